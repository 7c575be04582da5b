"""`fill_ranges` in Triton: one program per row and KV head."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from murmur_kernels.triton_kernels.fill_budget import ordered_group

_BLOCK_GROUPS = 128


@triton.jit
def _fill(
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
    stride_o_row,
    stride_o_head,
    stride_o_group,
    stride_s_row,
    stride_s_head,
    stride_s_group,
    stride_e_row,
    stride_e_head,
    stride_e_group,
    stride_c_row,
    stride_c_head,
    stride_b_row,
    stride_b_head,
    stride_r_row,
    stride_r_head,
    stride_r_range,
    stride_r_side,
    stride_nr_row,
    stride_nr_head,
    stride_t_row,
    stride_t_head,
    stride_t_range,
    stride_t_side,
    stride_nt_row,
    stride_nt_head,
    groups,
    max_ranges,
    HAS_STARTS: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    BLOCK_GROUPS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + row) == 0:
            return
    order += row * stride_o_row + head * stride_o_head
    node_starts += row * stride_s_row + head * stride_s_head
    node_ends += row * stride_e_row + head * stride_e_head
    ranges += row * stride_r_row + head * stride_r_head
    rest += row * stride_t_row + head * stride_t_head
    count = tl.minimum(tl.load(counts + row * stride_c_row + head * stride_c_head), groups)
    budget = tl.load(budgets + row * stride_b_row + head * stride_b_head)
    offset = 0
    if HAS_STARTS:
        offset = tl.load(starts + row)
    total = 0
    written = 0
    left = 0
    for first_rank in range(0, count, BLOCK_GROUPS):
        first, size = ordered_group(
            order,
            node_starts,
            node_ends,
            stride_o_group,
            stride_s_group,
            stride_e_group,
            first_rank + tl.arange(0, BLOCK_GROUPS),
            count,
        )
        before = total + tl.cumsum(size, 0) - size
        taken = tl.minimum(tl.maximum(budget - before, 0), size)
        place = written + tl.cumsum((taken > 0).to(tl.int32), 0) - 1
        taken = tl.where(place < max_ranges, taken, 0)
        is_read = taken > 0
        at = ranges + place * stride_r_range
        tl.store(at, offset + first, mask=is_read)
        tl.store(at + stride_r_side, offset + first + taken, mask=is_read)
        has_rest = taken < size
        place = left + tl.cumsum(has_rest.to(tl.int32), 0) - 1
        at = rest + place * stride_t_range
        tl.store(at, first + taken, mask=has_rest)
        tl.store(at + stride_t_side, first + size, mask=has_rest)
        total += tl.sum(size)
        written += tl.sum(is_read.to(tl.int32))
        left += tl.sum(has_rest.to(tl.int32))
    tl.store(num_ranges + row * stride_nr_row + head * stride_nr_head, written)
    tl.store(num_rest + row * stride_nt_row + head * stride_nt_head, left)


def fill_ranges_triton(
    order: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    ranges: torch.Tensor,
    num_ranges: torch.Tensor,
    rest: torch.Tensor,
    num_rest: torch.Tensor,
    starts: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """`fill_ranges` on checked arguments."""
    rows, heads, groups = order.shape
    if rows == 0 or heads == 0:
        return
    _fill[(rows, heads)](
        order,
        node_starts,
        node_ends,
        counts,
        budgets,
        ranges,
        num_ranges,
        rest,
        num_rest,
        starts.contiguous() if starts is not None else None,
        active,
        *order.stride(),
        *node_starts.stride(),
        *node_ends.stride(),
        *counts.stride(),
        *budgets.stride(),
        *ranges.stride(),
        *num_ranges.stride(),
        *rest.stride(),
        *num_rest.stride(),
        groups,
        ranges.shape[2],
        HAS_STARTS=starts is not None,
        HAS_ACTIVE=active is not None,
        BLOCK_GROUPS=_BLOCK_GROUPS,
    )
