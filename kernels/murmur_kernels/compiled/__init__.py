"""Decode attention as machine code, made for this processor when it is first called."""

LANES = 8
"""Floats of a vector: one AVX2 register. Head sizes are a multiple of it."""
