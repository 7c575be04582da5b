"""Attention over the KV arena: only what is selected is read.

The public ops; each has a float64 reference in `murmur_kernels.reference`.
"""

from murmur_kernels.attended import Attended
from murmur_kernels.centroid_score import centroid_score
from murmur_kernels.decode_attention import decode_attention, decode_attention_path
from murmur_kernels.fill_budget import fill_budget
from murmur_kernels.fill_ranges import fill_ranges
from murmur_kernels.kv_append import kv_append
from murmur_kernels.page_score import page_score
from murmur_kernels.page_stats import page_stats
from murmur_kernels.ranges import Ranges, StepRanges, step_ranges
from murmur_kernels.score_accumulate import score_accumulate
from murmur_kernels.selection import Selection, Summaries
from murmur_kernels.topk_select import topk_select
from murmur_kernels.two_means import two_means

__all__ = [
    "Attended",
    "Ranges",
    "Selection",
    "StepRanges",
    "Summaries",
    "centroid_score",
    "decode_attention",
    "decode_attention_path",
    "fill_budget",
    "fill_ranges",
    "kv_append",
    "page_score",
    "page_stats",
    "score_accumulate",
    "step_ranges",
    "topk_select",
    "two_means",
]
