"""Grids of settings over recordings: runs on disk, summaries, pictures, a recommendation."""
