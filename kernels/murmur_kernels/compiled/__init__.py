"""Decode attention as machine code, made for this processor when it is first called."""
