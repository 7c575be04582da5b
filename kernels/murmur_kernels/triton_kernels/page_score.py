"""`page_score` in Triton: one program per row, KV head and block of pages."""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl

_FORMULAS = {"minmax": 0, "deviation": 1, "norm": 2, "second_order": 3}
_BLOCK_PAGES = 32


@triton.jit
def _score(
    query,
    low,
    high,
    page_counts,
    active,
    out,
    stride_q_row,
    stride_q_head,
    stride_q_dim,
    stride_l_row,
    stride_l_head,
    stride_l_page,
    stride_l_dim,
    stride_h_row,
    stride_h_head,
    stride_h_page,
    stride_h_dim,
    stride_o_row,
    stride_o_head,
    stride_o_page,
    pages,
    head_dim,
    weight,
    scale,
    GROUP: tl.constexpr,
    FORMULA: tl.constexpr,
    REDUCE_MAX: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    BLOCK_PAGES: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + row) == 0:
            return
    page = tl.program_id(2) * BLOCK_PAGES + tl.arange(0, BLOCK_PAGES)
    count = tl.load(page_counts + row)
    at = out + row * stride_o_row + head * stride_o_head + page * stride_o_page
    if tl.program_id(2) * BLOCK_PAGES >= count:
        nothing = tl.full((BLOCK_PAGES,), float("-inf"), tl.float32)
        tl.store(at, nothing, mask=page < pages)
        return
    dim = tl.arange(0, BLOCK_DIM)
    used = (page < pages) & (page < count)
    mask = used[:, None] & (dim < head_dim)[None, :]
    where = row * stride_l_row + head * stride_l_head
    where = where + page[:, None] * stride_l_page + dim[None, :] * stride_l_dim
    first = tl.load(low + where, mask=mask, other=0.0)
    where = row * stride_h_row + head * stride_h_head
    where = where + page[:, None] * stride_h_page + dim[None, :] * stride_h_dim
    second = tl.load(high + where, mask=mask, other=0.0)
    if REDUCE_MAX:
        result = tl.full((BLOCK_PAGES,), float("-inf"), tl.float32)
    else:
        result = tl.zeros((BLOCK_PAGES,), tl.float32)
    for member in tl.static_range(GROUP):
        where = row * stride_q_row + (head * GROUP + member) * stride_q_head
        q = tl.load(query + where + dim * stride_q_dim, mask=dim < head_dim, other=0.0)
        q = q.to(tl.float32)[None, :]
        if FORMULA == 0:
            score = tl.sum(tl.maximum(q * first, q * second), axis=1)
        elif FORMULA == 1:
            score = tl.sum(q * first + weight * tl.abs(q) * second, axis=1)
        elif FORMULA == 2:
            length = tl.sqrt(tl.sum(q * q))
            score = tl.sum(q * first, axis=1) + weight * length * tl.sum(second, axis=1) / head_dim
        else:
            spread = q * second * scale
            score = tl.sum(q * first * scale + 0.5 * weight * spread * spread, axis=1)
        if REDUCE_MAX:
            result = tl.maximum(result, score)
        else:
            result += score / GROUP
    tl.store(at, tl.where(used, result, float("-inf")), mask=page < pages)


def page_score_triton(
    query: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    page_counts: torch.Tensor,
    formula: str,
    reduce: str,
    weight: float,
    active: torch.Tensor | None,
    out: torch.Tensor,
) -> None:
    """`page_score` on checked arguments."""
    rows, heads, dim = query.shape
    kv_heads, pages = low.shape[1:3]
    if rows == 0 or pages == 0:
        return
    _score[(rows, kv_heads, triton.cdiv(pages, _BLOCK_PAGES))](
        query,
        low,
        high,
        page_counts.contiguous(),
        active,
        out,
        *query.stride(),
        *low.stride(),
        *high.stride(),
        *out.stride(),
        pages,
        dim,
        weight,
        1.0 / math.sqrt(dim),
        GROUP=heads // kv_heads,
        FORMULA=_FORMULAS[formula],
        REDUCE_MAX=reduce == "max",
        HAS_ACTIVE=active is not None,
        BLOCK_PAGES=_BLOCK_PAGES,
        BLOCK_DIM=triton.next_power_of_2(dim),
    )
