"""Attention over the KV arena: only what is selected is read.

The public ops; each has a float64 reference in `murmur_kernels.reference`.
"""

from murmur_kernels.decode_attention import decode_attention

__all__ = ["decode_attention"]
