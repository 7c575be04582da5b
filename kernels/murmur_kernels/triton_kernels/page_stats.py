"""`page_stats` in Triton: one program per row, KV head and page."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _stats(
    keys,
    slots,
    starts,
    lengths,
    low,
    high,
    active,
    stride_k_slot,
    stride_k_head,
    stride_k_entry,
    stride_l_row,
    stride_l_head,
    stride_l_page,
    stride_l_dim,
    stride_h_row,
    stride_h_head,
    stride_h_page,
    stride_h_dim,
    pages,
    page_size,
    head_dim,
    MINMAX: tl.constexpr,
    LAST_ONLY: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    BLOCK_ENTRIES: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    row = tl.program_id(0)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + row) == 0:
            return
    length = tl.minimum(tl.load(lengths + row), pages * page_size)
    page = tl.program_id(2)
    if LAST_ONLY:
        page = (length - 1) // page_size
    first = page * page_size
    if (length <= 0) | (first >= length):
        return
    offset = tl.arange(0, BLOCK_ENTRIES)
    dim = tl.arange(0, BLOCK_DIM)
    used = (offset < page_size) & (first + offset < length)
    mask = used[:, None] & (dim < head_dim)[None, :]
    entry = (tl.load(starts + row) + first + offset).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    base = keys + slot * stride_k_slot + head * stride_k_head
    k = tl.load(base + entry[:, None] * stride_k_entry + dim[None, :], mask=mask, other=0.0)
    k = k.to(tl.float32)
    if MINMAX:
        first_stat = tl.min(tl.where(mask, k, float("inf")), axis=0)
        second_stat = tl.max(tl.where(mask, k, float("-inf")), axis=0)
    else:
        count = tl.minimum(length - first, page_size).to(tl.float32)
        first_stat = tl.sum(k, axis=0) / count
        away = tl.where(mask, k - first_stat[None, :], 0.0)
        second_stat = tl.sqrt(tl.sum(away * away, axis=0) / count)
    at = row.to(tl.int64) * stride_l_row + head * stride_l_head + page * stride_l_page
    tl.store(low + at + dim * stride_l_dim, first_stat, mask=dim < head_dim)
    at = row.to(tl.int64) * stride_h_row + head * stride_h_head + page * stride_h_page
    tl.store(high + at + dim * stride_h_dim, second_stat, mask=dim < head_dim)


def page_stats_triton(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    page_size: int,
    kind: str,
    last_page_only: bool,
    active: torch.Tensor | None,
) -> None:
    """`page_stats` on checked arguments."""
    rows, heads, pages, dim = low.shape
    if rows == 0 or pages == 0:
        return
    _stats[(rows, heads, 1 if last_page_only else pages)](
        keys,
        slots.contiguous(),
        starts.contiguous(),
        lengths.contiguous(),
        low,
        high,
        active,
        *keys.stride()[:3],
        *low.stride(),
        *high.stride(),
        pages,
        page_size,
        dim,
        MINMAX=kind == "minmax",
        LAST_ONLY=last_page_only,
        HAS_ACTIVE=active is not None,
        BLOCK_ENTRIES=triton.next_power_of_2(page_size),
        BLOCK_DIM=triton.next_power_of_2(dim),
    )
