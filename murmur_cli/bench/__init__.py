"""Measurements: the decode engine alone, and whole jobs beside other programs."""
