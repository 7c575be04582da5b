"""One tensor's part of `range_summaries` in Triton: one program per row, KV head and block."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_BLOCK_RANGES = 16


@triton.jit
def _means(
    sums,
    center,
    ranges,
    counts,
    out,
    log_counts,
    active,
    stride_s_row,
    stride_s_head,
    stride_s_place,
    stride_s_dim,
    stride_m_row,
    stride_m_head,
    stride_m_dim,
    stride_r_row,
    stride_r_head,
    stride_r_range,
    stride_r_side,
    stride_c_row,
    stride_c_head,
    stride_o_row,
    stride_o_head,
    stride_o_range,
    stride_o_dim,
    stride_l_row,
    stride_l_head,
    stride_l_range,
    number,
    head_dim,
    HAS_LOG_COUNTS: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    BLOCK_RANGES: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + row) == 0:
            return
    count = tl.minimum(tl.load(counts + row * stride_c_row + head * stride_c_head), number)
    if tl.program_id(2) * BLOCK_RANGES >= count:
        return
    place = tl.program_id(2) * BLOCK_RANGES + tl.arange(0, BLOCK_RANGES)
    used = place < count
    at_range = ranges + row * stride_r_row + head * stride_r_head + place * stride_r_range
    start = tl.load(at_range, mask=used, other=0)
    end = tl.load(at_range + stride_r_side, mask=used, other=1)
    size = (end - start).to(tl.float32)
    dim = tl.arange(0, BLOCK_DIM)
    mask = used[:, None] & (dim < head_dim)[None, :]
    at_sums = sums + row * stride_s_row + head * stride_s_head + dim[None, :] * stride_s_dim
    before = tl.load(at_sums + start.to(tl.int64)[:, None] * stride_s_place, mask=mask, other=0.0)
    after = tl.load(at_sums + end.to(tl.int64)[:, None] * stride_s_place, mask=mask, other=0.0)
    at_center = center + row * stride_m_row + head * stride_m_head + dim * stride_m_dim
    middle = tl.load(at_center, mask=dim < head_dim, other=0.0)
    mean = middle[None, :] + (after - before) / size[:, None]
    at_out = out + row * stride_o_row + head * stride_o_head
    at_out = at_out + place[:, None] * stride_o_range + dim[None, :] * stride_o_dim
    tl.store(at_out, mean.to(out.dtype.element_ty), mask=mask)
    if HAS_LOG_COUNTS:
        at_log = log_counts + row * stride_l_row + head * stride_l_head + place * stride_l_range
        tl.store(at_log, tl.log(size), mask=used)


def range_means_triton(
    sums: torch.Tensor,
    center: torch.Tensor,
    ranges: torch.Tensor,
    counts: torch.Tensor,
    out: torch.Tensor,
    log_counts: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """Means of the ranges, and the logarithms of their sizes, on checked arguments."""
    rows, heads, number, dim = out.shape
    if rows == 0 or heads == 0 or number == 0:
        return
    _means[(rows, heads, triton.cdiv(number, _BLOCK_RANGES))](
        sums,
        center,
        ranges,
        counts,
        out,
        log_counts,
        active,
        *sums.stride(),
        *center.stride(),
        *ranges.stride(),
        *counts.stride(),
        *out.stride(),
        *(log_counts.stride() if log_counts is not None else (0, 0, 0)),
        number,
        dim,
        HAS_LOG_COUNTS=log_counts is not None,
        HAS_ACTIVE=active is not None,
        BLOCK_RANGES=_BLOCK_RANGES,
        BLOCK_DIM=triton.next_power_of_2(dim),
    )
