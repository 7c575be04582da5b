"""Triton kernels and their launchers, one op per file; imported only when one is launched."""
