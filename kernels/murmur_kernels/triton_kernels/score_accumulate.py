"""`score_accumulate` in Triton: one program per row, KV head and block of entries.

A score belongs to one program, so nothing is added up in an order that could change.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_REDUCES = {"sum": 0, "mean": 1, "max": 2}
_BLOCK_ENTRIES = 32


@triton.jit
def _accumulate(
    query,
    keys,
    slots,
    lse,
    scores,
    counts,
    indices,
    starts,
    limits,
    active,
    stride_q_row,
    stride_q_query,
    stride_q_head,
    stride_q_dim,
    stride_k_slot,
    stride_k_head,
    stride_k_entry,
    stride_l_row,
    stride_l_query,
    stride_l_head,
    stride_s_row,
    stride_s_head,
    stride_s_entry,
    stride_c_row,
    stride_c_head,
    stride_i_row,
    stride_i_head,
    stride_i_entry,
    stride_m_row,
    stride_m_query,
    queries,
    entries,
    head_dim,
    scale,
    decay,
    GROUP: tl.constexpr,
    REDUCE: tl.constexpr,
    HAS_INDICES: tl.constexpr,
    HAS_STARTS: tl.constexpr,
    HAS_LIMITS: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    BLOCK_ENTRIES: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + row) == 0:
            return
    count = tl.minimum(tl.load(counts + row * stride_c_row + head * stride_c_head), entries)
    if tl.program_id(2) * BLOCK_ENTRIES >= count:
        return
    place = tl.program_id(2) * BLOCK_ENTRIES + tl.arange(0, BLOCK_ENTRIES)
    used = place < count
    entry = place
    if HAS_INDICES:
        at = indices + row * stride_i_row + head * stride_i_head + place * stride_i_entry
        entry = tl.load(at, mask=used, other=0)
    if HAS_STARTS:
        entry += tl.load(starts + row)
    dim = tl.arange(0, BLOCK_DIM)
    slot = tl.load(slots + row).to(tl.int64)
    at = keys + slot * stride_k_slot + head * stride_k_head
    at = at + entry.to(tl.int64)[:, None] * stride_k_entry + dim[None, :]
    k = tl.load(at, mask=used[:, None] & (dim < head_dim)[None, :], other=0.0).to(tl.float32)
    at_scores = scores + row * stride_s_row + head * stride_s_head + place * stride_s_entry
    total = tl.load(at_scores, mask=used, other=0.0)
    for t in range(queries):
        received = tl.zeros((BLOCK_ENTRIES,), tl.float32)
        for member in tl.static_range(GROUP):
            query_head = head * GROUP + member
            at_query = query + row * stride_q_row + t * stride_q_query + query_head * stride_q_head
            q = tl.load(at_query + dim * stride_q_dim, mask=dim < head_dim, other=0.0).to(
                tl.float32
            )
            logits = tl.sum(k * q[None, :], axis=1) * scale
            at_lse = lse + row * stride_l_row + t * stride_l_query + query_head * stride_l_head
            seen = tl.exp(logits - tl.load(at_lse))
            if REDUCE == 2:
                received = tl.maximum(received, seen)
            elif REDUCE == 1:
                received += seen / GROUP
            else:
                received += seen
        if HAS_LIMITS:
            limit = tl.load(limits + row * stride_m_row + t * stride_m_query)
            received = tl.where(entry < limit, received, 0.0)
        total = total * decay + received
    tl.store(at_scores, total, mask=used)


def score_accumulate_triton(
    query: torch.Tensor,
    keys: torch.Tensor,
    slots: torch.Tensor,
    lse: torch.Tensor,
    scores: torch.Tensor,
    counts: torch.Tensor,
    scale: float,
    decay: float,
    reduce: str,
    indices: torch.Tensor | None,
    starts: torch.Tensor | None,
    limits: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """`score_accumulate` on checked arguments."""
    rows, queries, heads, dim = query.shape
    kv_heads, entries = scores.shape[1:]
    if rows == 0 or queries == 0 or entries == 0:
        return
    _accumulate[(rows, kv_heads, triton.cdiv(entries, _BLOCK_ENTRIES))](
        query,
        keys,
        slots.contiguous(),
        lse,
        scores,
        counts,
        indices,
        starts.contiguous() if starts is not None else None,
        limits,
        active,
        *query.stride(),
        *keys.stride()[:3],
        *lse.stride(),
        *scores.stride(),
        *counts.stride(),
        *(indices.stride() if indices is not None else (0, 0, 0)),
        *(limits.stride() if limits is not None else (0, 0)),
        queries,
        entries,
        dim,
        scale,
        decay,
        GROUP=heads // kv_heads,
        REDUCE=_REDUCES[reduce],
        HAS_INDICES=indices is not None,
        HAS_STARTS=starts is not None,
        HAS_LIMITS=limits is not None,
        HAS_ACTIVE=active is not None,
        BLOCK_ENTRIES=_BLOCK_ENTRIES,
        BLOCK_DIM=triton.next_power_of_2(dim),
    )
