"""Fills a budget of entries with whole groups, best first, as ranges per (row, KV head).

    size_i  = node_ends[order_i] - node_starts[order_i],          i < counts[r, h]
    taken_i = clamp(budgets[r, h] - sum_{j < i} size_j, 0, size_i),    0 from the rank on that has
              no range left
    ranges[r, h] = starts[r] + node_starts[order_i] + (0, taken_i)             where taken_i > 0
    rest[r, h]   = node_starts[order_i] + (taken_i, size_i)                   where taken_i < size_i

For entries stored in the order of their tree (`tree_order`), where every group is a range: what
is read exactly, for `decode_attention`, and what its summaries stand for, for
`range_summaries`. The group that no longer fits is cut in two, and each part counts on its side.
"""

from __future__ import annotations

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.fill_budget import check_groups
from murmur_kernels.tensor_checks import INT32, check_active, check_tensor


def fill_ranges(
    order: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    ranges: torch.Tensor,
    num_ranges: torch.Tensor,
    rest: torch.Tensor,
    num_rest: torch.Tensor,
    *,
    starts: torch.Tensor | None = None,
    active: torch.Tensor | None = None,
) -> None:
    """Write both lists and their lengths; what a list does not fill keeps what it holds.

    Args:
        order: (rows, kv_heads, groups) int32 or int64: the groups, best first.
        node_starts, node_ends: (rows, kv_heads, groups) int32, half-open places of each group.
        counts: (rows, kv_heads) int32, how many of `order` there are.
        budgets: (rows, kv_heads) int32, entries to read exactly.
        ranges: (rows, kv_heads, max_ranges, 2) int32, written: entries of the slot.
        num_ranges: (rows, kv_heads) int32, written.
        rest: (rows, kv_heads, groups, 2) int32, written: places of the tree.
        num_rest: (rows, kv_heads) int32, written.
        starts: (rows,) int32, where the region of each row starts; None: 0.
        active: (rows,) bool; the lists of other rows stay as they are. None: all are.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    device = order.device
    check_groups(order, node_starts, node_ends, counts, budgets)
    rows, heads, groups = order.shape
    check_tensor("ranges", ranges, (rows, heads, None, 2), INT32, device)
    check_tensor("num_ranges", num_ranges, (rows, heads), INT32, device)
    check_tensor("rest", rest, (rows, heads, groups, 2), INT32, device)
    check_tensor("num_rest", num_rest, (rows, heads), INT32, device)
    if starts is not None:
        check_tensor("starts", starts, (rows,), INT32, device)
    check_active(active, rows, device)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.fill_ranges import fill_ranges_triton as run
    else:
        from murmur_kernels.torch_ops.fill_ranges import fill_ranges_torch as run
    run(
        order,
        node_starts,
        node_ends,
        counts,
        budgets,
        ranges,
        num_ranges,
        rest,
        num_rest,
        starts,
        active,
    )
