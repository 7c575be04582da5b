"""Attention over the KV arena: only what is selected is read.

The public ops; each has a float64 reference in `murmur_kernels.reference`.
"""

from murmur_kernels.attended import Attended
from murmur_kernels.centroid_score import centroid_score
from murmur_kernels.choose_groups import choose_groups
from murmur_kernels.decode_attention import decode_attention, decode_attention_path
from murmur_kernels.fill_budget import fill_budget
from murmur_kernels.fill_ranges import fill_ranges
from murmur_kernels.frontier import Frontier, start_frontier
from murmur_kernels.frontier_update import frontier_update
from murmur_kernels.group_choice import (
    GROUPS_UNIT,
    NO_WEIGHT,
    GroupChoice,
    GroupRanking,
    GroupState,
)
from murmur_kernels.group_means import group_means
from murmur_kernels.group_spread import GroupMoments, group_moments, tree_spread
from murmur_kernels.kmeans import Clusters, kmeans
from murmur_kernels.kv_append import kv_append
from murmur_kernels.page_score import page_score
from murmur_kernels.page_stats import page_stats
from murmur_kernels.prefix_sums import PrefixSums, prefix_sums
from murmur_kernels.range_summaries import range_summaries
from murmur_kernels.ranges import MAX_RANGES, Ranges, StepRanges, step_ranges
from murmur_kernels.reorder_entries import reorder_entries
from murmur_kernels.score_accumulate import score_accumulate
from murmur_kernels.selection import MOST_GAIN, SecondOrder, Selection, Summaries
from murmur_kernels.term_trace import TermTrace
from murmur_kernels.topk_select import topk_select
from murmur_kernels.tree_order import Tree, tree_order
from murmur_kernels.two_means import two_means

__all__ = [
    "GROUPS_UNIT",
    "MAX_RANGES",
    "MOST_GAIN",
    "NO_WEIGHT",
    "Attended",
    "Clusters",
    "Frontier",
    "GroupChoice",
    "GroupMoments",
    "GroupRanking",
    "GroupState",
    "PrefixSums",
    "Ranges",
    "SecondOrder",
    "Selection",
    "StepRanges",
    "Summaries",
    "TermTrace",
    "Tree",
    "centroid_score",
    "choose_groups",
    "decode_attention",
    "decode_attention_path",
    "fill_budget",
    "fill_ranges",
    "frontier_update",
    "group_means",
    "group_moments",
    "kmeans",
    "kv_append",
    "page_score",
    "page_stats",
    "prefix_sums",
    "range_summaries",
    "reorder_entries",
    "score_accumulate",
    "start_frontier",
    "step_ranges",
    "topk_select",
    "tree_order",
    "tree_spread",
    "two_means",
]
