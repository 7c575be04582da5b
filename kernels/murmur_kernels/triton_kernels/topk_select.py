"""`topk_select` in Triton: one program per row and KV head.

The rank of the last chosen entry is found bit by bit, 32 counts over the scores; a last pass
writes what is above it, and the first of what equals it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_MAX_BLOCK = 4096


@triton.jit
def _ranks(
    scores,
    protected,
    stride_s_entry,
    stride_p_entry,
    entry,
    count,
    HAS_PROTECTED: tl.constexpr,
):
    """Ranks from 1 on in the order of the scores; 0 where there is no entry."""
    used = entry < count
    score = tl.load(scores + entry * stride_s_entry, mask=used, other=0.0)
    bits = tl.where(score == 0, 0.0, score).to(tl.int32, bitcast=True)
    rank = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64) + 2147483648
    rank = tl.where(score != score, 1, rank)
    if HAS_PROTECTED:
        is_protected = tl.load(protected + entry * stride_p_entry, mask=used, other=0)
        rank = tl.where(is_protected != 0, 4294967295, rank)
    return tl.where(used, rank, 0)


@triton.jit
def _select(
    scores,
    counts,
    budgets,
    indices,
    num_indices,
    protected,
    starts,
    active,
    stride_s_row,
    stride_s_head,
    stride_s_entry,
    stride_c_row,
    stride_c_head,
    stride_b_row,
    stride_b_head,
    stride_i_row,
    stride_i_head,
    stride_i_entry,
    stride_n_row,
    stride_n_head,
    stride_p_row,
    stride_p_head,
    stride_p_entry,
    entries,
    width,
    HAS_PROTECTED: tl.constexpr,
    HAS_STARTS: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + row) == 0:
            return
    count = tl.minimum(tl.load(counts + row * stride_c_row + head * stride_c_head), entries)
    budget = tl.load(budgets + row * stride_b_row + head * stride_b_head)
    chosen = tl.maximum(tl.minimum(tl.minimum(budget, count), width), 0)
    tl.store(num_indices + row * stride_n_row + head * stride_n_head, chosen)
    if chosen == 0:
        return
    scores += row * stride_s_row + head * stride_s_head
    if HAS_PROTECTED:
        protected += row * stride_p_row + head * stride_p_head
    lane = tl.arange(0, BLOCK)
    last = tl.zeros((), tl.int64)
    above = 0
    bit = tl.full((), 2147483648, tl.int64)
    for _ in range(32):
        candidate = last + bit
        reached = 0
        for first in range(0, count, BLOCK):
            rank = _ranks(
                scores,
                protected,
                stride_s_entry,
                stride_p_entry,
                first + lane,
                count,
                HAS_PROTECTED,
            )
            reached += tl.sum((rank >= candidate).to(tl.int32))
        if reached >= chosen:
            last = candidate
        else:
            above = reached
        bit = bit // 2
    # `above` counts ranks of at least the last candidate that too few reach: those beyond `last`.
    missing = chosen - above
    written = 0
    equals = 0
    start = 0
    if HAS_STARTS:
        start = tl.load(starts + row)
    at = indices + row * stride_i_row + head * stride_i_head
    for first in range(0, count, BLOCK):
        rank = _ranks(
            scores, protected, stride_s_entry, stride_p_entry, first + lane, count, HAS_PROTECTED
        )
        equal = (rank == last).to(tl.int32)
        is_first = (equals + tl.cumsum(equal, 0)) <= missing
        take = ((rank > last) | ((rank == last) & is_first)).to(tl.int32)
        place = written + tl.cumsum(take, 0) - 1
        tl.store(at + place * stride_i_entry, start + first + lane, mask=take != 0)
        written += tl.sum(take)
        equals += tl.sum(equal)


def topk_select_triton(
    scores: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    indices: torch.Tensor,
    num_indices: torch.Tensor,
    protected: torch.Tensor | None,
    starts: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """`topk_select` on checked arguments."""
    rows, heads, entries = scores.shape
    if rows == 0:
        return
    _select[(rows, heads)](
        scores,
        counts,
        budgets,
        indices,
        num_indices,
        protected,
        starts.contiguous() if starts is not None else None,
        active,
        *scores.stride(),
        *counts.stride(),
        *budgets.stride(),
        *indices.stride(),
        *num_indices.stride(),
        *(protected.stride() if protected is not None else (0, 0, 0)),
        entries,
        indices.shape[2],
        HAS_PROTECTED=protected is not None,
        HAS_STARTS=starts is not None,
        HAS_ACTIVE=active is not None,
        BLOCK=min(_MAX_BLOCK, max(16, triton.next_power_of_2(entries))),
    )
