"""Spellings that are compared: one rule set per file, `registry.py` finds it."""
