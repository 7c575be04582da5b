"""Splits groups of entries in two by their keys: one level of a binary tree, all groups at once.

    x_j = k_j / ||k_j||  ('cosine')   or   k_j  ('euclidean')
    first centroid: the entry that a hash of (seed, first place, size) picks
    second centroid: the entry farthest from it, the earliest of equals
    `iterations` times: assign each entry to the nearer centroid, to the first in a tie; between
    two assignments a centroid becomes the mean of its entries ('cosine': scaled to length one)

C3's recursive k-means does 8 iterations a split with seed 0; its metric is not published, and its
ranking is by cosine. A group whose entries all went to one side is split into its earlier and its
later half, and so is one with a side of more than `max_child` entries: that bounds the depth.
Nothing depends on other rows, heads or groups.
"""

from __future__ import annotations

from typing import Literal

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import (
    INT32,
    check_arena_layer,
    check_at_least,
    check_choice,
    check_tensor,
)

KeyMetric = Literal["cosine", "euclidean"]


def two_means(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    permutation: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    *,
    max_child: int,
    metric: KeyMetric = "cosine",
    iterations: int = 8,
    seed: int = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The permutation with every group's first part before its second, and the first parts' sizes.

    Both parts keep the order that their entries had. A group of less than two entries stays.

    Args:
        keys: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots, starts: (rows,) int32, where each row's region lies.
        permutation: (rows, kv_heads, places) int32; place p is entry starts[r] + permutation[p].
        node_starts, node_ends: (rows, kv_heads, groups) int32, half-open places; disjoint.
        max_child: largest part allowed, at least half of every group, rounded up.
        metric: what is near.
        iterations: assignments, at least 1.
        seed: of the first centroids.

    Returns:
        permutation (rows, kv_heads, places) and sizes (rows, kv_heads, groups), int32 and new.

    Raises:
        ValueError: shapes, dtypes, devices or numbers that do not fit.
    """
    device = keys.device
    check_arena_layer("keys", keys)
    check_tensor("permutation", permutation, (None, keys.shape[1], None), INT32, device)
    rows, heads, _ = permutation.shape
    check_tensor("slots", slots, (rows,), INT32, device)
    check_tensor("starts", starts, (rows,), INT32, device)
    check_tensor("node_starts", node_starts, (rows, heads, None), INT32, device)
    check_tensor("node_ends", node_ends, node_starts.shape, INT32, device)
    check_choice("metric", metric, ("cosine", "euclidean"))
    check_at_least("iterations", iterations, 1)
    check_at_least("max_child", max_child, 1)
    check_at_least("seed", seed, 0)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.two_means import two_means_triton as run
    else:
        from murmur_kernels.torch_ops.two_means import two_means_torch as run
    return run(
        keys,
        slots,
        starts,
        permutation,
        node_starts,
        node_ends,
        max_child,
        metric == "cosine",
        iterations,
        seed,
    )
