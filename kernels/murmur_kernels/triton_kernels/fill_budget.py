"""`fill_budget` in Triton: one program per row, KV head and block of list places.

Every program sums the sizes itself: they are few, and no program waits for another.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_BLOCK_PLACES = 64
_BLOCK_GROUPS = 128


@triton.jit
def ordered_group(
    order,
    node_starts,
    node_ends,
    stride_o_group,
    stride_s_group,
    stride_e_group,
    rank,
    count,
):
    """First place and size of the groups of these ranks; those beyond the count are empty."""
    used = rank < count
    group = tl.load(order + rank * stride_o_group, mask=used, other=0)
    first = tl.load(node_starts + group * stride_s_group, mask=used, other=0)
    last = tl.load(node_ends + group * stride_e_group, mask=used, other=0)
    return first, last - first


@triton.jit
def _fill(
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
    stride_i_row,
    stride_i_head,
    stride_i_place,
    stride_n_row,
    stride_n_head,
    stride_p_row,
    stride_p_head,
    stride_p_place,
    groups,
    width,
    HAS_PERMUTATION: tl.constexpr,
    HAS_STARTS: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    BLOCK_PLACES: tl.constexpr,
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
    count = tl.minimum(tl.load(counts + row * stride_c_row + head * stride_c_head), groups)
    budget = tl.load(budgets + row * stride_b_row + head * stride_b_head)
    budget = tl.maximum(tl.minimum(budget, width), 0)
    place = tl.program_id(2) * BLOCK_PLACES + tl.arange(0, BLOCK_PLACES)
    shift = tl.zeros((BLOCK_PLACES,), tl.int32)
    total = 0
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
        end = total + tl.cumsum(size, 0)
        before = end - size
        inside = (place[:, None] >= before[None, :]) & (place[:, None] < end[None, :])
        shift += tl.sum(tl.where(inside, (first - before)[None, :], 0), axis=1)
        total += tl.sum(size)
    total = tl.minimum(total, budget)
    used = place < total
    entry = place + shift
    if HAS_PERMUTATION:
        at = permutation + row * stride_p_row + head * stride_p_head
        entry = tl.load(at + entry * stride_p_place, mask=used, other=0)
    if HAS_STARTS:
        entry += tl.load(starts + row)
    at = indices + row * stride_i_row + head * stride_i_head
    tl.store(at + place * stride_i_place, entry, mask=used)
    if tl.program_id(2) == 0:
        tl.store(num_indices + row * stride_n_row + head * stride_n_head, total)


def fill_budget_triton(
    order: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    indices: torch.Tensor,
    num_indices: torch.Tensor,
    permutation: torch.Tensor | None,
    starts: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """`fill_budget` on checked arguments."""
    rows, heads, groups = order.shape
    width = indices.shape[2]
    if rows == 0 or heads == 0:
        return
    _fill[(rows, heads, max(1, triton.cdiv(width, _BLOCK_PLACES)))](
        order,
        node_starts,
        node_ends,
        counts,
        budgets,
        indices,
        num_indices,
        permutation,
        starts.contiguous() if starts is not None else None,
        active,
        *order.stride(),
        *node_starts.stride(),
        *node_ends.stride(),
        *counts.stride(),
        *budgets.stride(),
        *indices.stride(),
        *num_indices.stride(),
        *(permutation.stride() if permutation is not None else (0, 0, 0)),
        groups,
        width,
        HAS_PERMUTATION=permutation is not None,
        HAS_STARTS=starts is not None,
        HAS_ACTIVE=active is not None,
        BLOCK_PLACES=_BLOCK_PLACES,
        BLOCK_GROUPS=_BLOCK_GROUPS,
    )
