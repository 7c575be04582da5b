"""Fills a budget of entries with whole groups, best first, as an index list per (row, KV head).

    size_i  = node_ends[order_i] - node_starts[order_i],          i < counts[r, h]
    taken_i = clamp(budgets[r, h] - sum_{j < i} size_j, 0, size_i)
    indices[r, h] = the first taken_i entries of every group order_i, one after the other

A group is a range of places; place p is entry starts[r] + permutation[r, h, p]. The group that
no longer fits is cut: its first entries are taken, which are the earliest ones where the places
of a group ascend (clusters of a stable sort) and its nearest subgroups where they are those of a
tree. So the list has exactly the budget's entries wherever there are as many.
"""

from __future__ import annotations

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import INT32, check_active, check_tensor


def fill_budget(
    order: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    indices: torch.Tensor,
    num_indices: torch.Tensor,
    *,
    permutation: torch.Tensor | None = None,
    starts: torch.Tensor | None = None,
    active: torch.Tensor | None = None,
) -> None:
    """Write the lists and their lengths; what a list does not fill keeps what it holds.

    Args:
        order: (rows, kv_heads, groups) int32 or int64: the groups, best first, such as the
            indices of a stable descending sort of `centroid_score`.
        node_starts, node_ends: (rows, kv_heads, groups) int32, half-open places of each group.
        counts: (rows, kv_heads) int32, how many of `order` there are.
        budgets: (rows, kv_heads) int32, entries wanted.
        indices: (rows, kv_heads, width) int32, written; a budget beyond the width is cut to it.
        num_indices: (rows, kv_heads) int32, written.
        permutation: (rows, kv_heads, places) int32. None: place p is entry starts[r] + p, as of
            entries stored in the order of a tree.
        starts: (rows,) int32, where the region of each row starts; None: 0.
        active: (rows,) bool; the lists of other rows stay as they are. None: all are.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    device = order.device
    check_groups(order, node_starts, node_ends, counts, budgets)
    rows, heads, _ = order.shape
    check_tensor("indices", indices, (rows, heads, None), INT32, device)
    check_tensor("num_indices", num_indices, (rows, heads), INT32, device)
    if permutation is not None:
        check_tensor("permutation", permutation, (rows, heads, None), INT32, device)
    if starts is not None:
        check_tensor("starts", starts, (rows,), INT32, device)
    check_active(active, rows, device)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.fill_budget import fill_budget_triton as run
    else:
        from murmur_kernels.torch_ops.fill_budget import fill_budget_torch as run
    run(
        order,
        node_starts,
        node_ends,
        counts,
        budgets,
        indices,
        num_indices,
        permutation,
        starts,
        active,
    )


def check_groups(
    order: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
) -> None:
    """Raise ValueError unless these describe ordered groups."""
    device = order.device
    check_tensor("order", order, (None, None, None), (torch.int32, torch.int64), device)
    check_tensor("node_starts", node_starts, order.shape, INT32, device)
    check_tensor("node_ends", node_ends, order.shape, INT32, device)
    check_tensor("counts", counts, order.shape[:2], INT32, device)
    check_tensor("budgets", budgets, order.shape[:2], INT32, device)
