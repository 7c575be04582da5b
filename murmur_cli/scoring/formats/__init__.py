"""The files that scoring reads: one format per file, `registry.py` finds it."""
