"""Attention over the KV arena: only what is selected is read.

The public ops; each has a float64 reference in `murmur_kernels.reference`.
"""

from murmur_kernels.decode_attention import decode_attention, decode_attention_path
from murmur_kernels.kv_append import kv_append
from murmur_kernels.page_score import page_score
from murmur_kernels.page_stats import page_stats
from murmur_kernels.ranges import Ranges, StepRanges, step_ranges

__all__ = [
    "Ranges",
    "StepRanges",
    "decode_attention",
    "decode_attention_path",
    "kv_append",
    "page_score",
    "page_stats",
    "step_ranges",
]
