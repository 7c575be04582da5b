"""`centroid_score` in Triton: one program per row, KV head and block of groups."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_BLOCK_GROUPS = 32


@triton.jit
def _score(
    query,
    centroids,
    counts,
    bias,
    average,
    fresh,
    active,
    out,
    stride_q_row,
    stride_q_head,
    stride_q_dim,
    stride_c_row,
    stride_c_head,
    stride_c_group,
    stride_c_dim,
    stride_n_row,
    stride_n_head,
    stride_b_row,
    stride_b_head,
    stride_b_group,
    stride_a_row,
    stride_a_head,
    stride_a_group,
    stride_o_row,
    stride_o_head,
    stride_o_group,
    groups,
    head_dim,
    scale,
    decay,
    GROUP: tl.constexpr,
    COSINE: tl.constexpr,
    REDUCE_MAX: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    HAS_AVERAGE: tl.constexpr,
    HAS_FRESH: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    BLOCK_GROUPS: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + row) == 0:
            return
    group = tl.program_id(2) * BLOCK_GROUPS + tl.arange(0, BLOCK_GROUPS)
    count = tl.load(counts + row * stride_n_row + head * stride_n_head)
    used = (group < groups) & (group < count)
    dim = tl.arange(0, BLOCK_DIM)
    at = centroids + row * stride_c_row + head * stride_c_head
    at = at + group[:, None] * stride_c_group + dim[None, :] * stride_c_dim
    c = tl.load(at, mask=used[:, None] & (dim < head_dim)[None, :], other=0.0).to(tl.float32)
    factor = tl.zeros((BLOCK_GROUPS,), tl.float32) + scale
    if COSINE:
        lengths = tl.sqrt(tl.sum(c * c, axis=1))
        factor = scale / tl.where(lengths == 0, 1.0, lengths)
    if REDUCE_MAX:
        result = tl.full((BLOCK_GROUPS,), float("-inf"), tl.float32)
    else:
        result = tl.zeros((BLOCK_GROUPS,), tl.float32)
    for member in tl.static_range(GROUP):
        at = query + row * stride_q_row + (head * GROUP + member) * stride_q_head
        q = tl.load(at + dim * stride_q_dim, mask=dim < head_dim, other=0.0).to(tl.float32)
        score = tl.sum(c * q[None, :], axis=1) * factor
        if COSINE:
            length = tl.sqrt(tl.sum(q * q))
            score = score / tl.where(length == 0, 1.0, length)
        if REDUCE_MAX:
            result = tl.maximum(result, score)
        else:
            result += score / GROUP
    if HAS_BIAS:
        at = bias + row * stride_b_row + head * stride_b_head + group * stride_b_group
        result += tl.load(at, mask=used, other=0.0)
    if HAS_AVERAGE:
        at = average + row * stride_a_row + head * stride_a_head + group * stride_a_group
        past = tl.load(at, mask=used, other=0.0)
        mixed = decay * past + (1 - decay) * result
        if HAS_FRESH:
            mixed = tl.where(tl.load(fresh + row) != 0, result, mixed)
        tl.store(at, mixed, mask=used)
    at = out + row * stride_o_row + head * stride_o_head + group * stride_o_group
    tl.store(at, tl.where(used, result, float("-inf")), mask=group < groups)


def centroid_score_triton(
    query: torch.Tensor,
    centroids: torch.Tensor,
    counts: torch.Tensor,
    metric: str,
    reduce: str,
    scale: float,
    bias: torch.Tensor | None,
    average: torch.Tensor | None,
    decay: float,
    fresh: torch.Tensor | None,
    active: torch.Tensor | None,
    out: torch.Tensor,
) -> None:
    """`centroid_score` on checked arguments."""
    rows, heads, dim = query.shape
    kv_heads, groups = centroids.shape[1:3]
    if rows == 0 or groups == 0:
        return
    _score[(rows, kv_heads, triton.cdiv(groups, _BLOCK_GROUPS))](
        query,
        centroids,
        counts,
        bias,
        average,
        fresh,
        active,
        out,
        *query.stride(),
        *centroids.stride(),
        *counts.stride(),
        *(bias.stride() if bias is not None else (0, 0, 0)),
        *(average.stride() if average is not None else (0, 0, 0)),
        *out.stride(),
        groups,
        dim,
        scale,
        decay,
        GROUP=heads // kv_heads,
        COSINE=metric == "cosine",
        REDUCE_MAX=reduce == "max",
        HAS_BIAS=bias is not None,
        HAS_AVERAGE=average is not None,
        HAS_FRESH=fresh is not None,
        HAS_ACTIVE=active is not None,
        BLOCK_GROUPS=_BLOCK_GROUPS,
        BLOCK_DIM=triton.next_power_of_2(dim),
    )
