"""Accumulates the attention that entries receive, with decay, from the log-sum-exp of each query.

    p_i[t, j]       = exp(scale * q[r, t, i] . k_j - lse[r, t, i]),     0 for j >= limits[r, t]
    scores[r, h, j] = decay^T scores[r, h, j] + sum_t decay^(T - 1 - t) reduce_i p_i[t, j]

over the queries t = 0 .. T - 1 of a row and the query heads i of KV head h. H2O: decay 1; VoxZip:
decay 0.95 with 'sum'; SnapKV's window: decay 1 and the queries of the window in one call. The
attention itself need not keep its probabilities: the keys of the listed entries are read once
more.
"""

from __future__ import annotations

from typing import Literal

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import (
    FLOAT32,
    FLOATS,
    INT32,
    check_active,
    check_arena_layer,
    check_choice,
    check_group,
    check_tensor,
)


def score_accumulate(
    query: torch.Tensor,
    keys: torch.Tensor,
    slots: torch.Tensor,
    lse: torch.Tensor,
    scores: torch.Tensor,
    counts: torch.Tensor,
    *,
    scale: float,
    decay: float,
    reduce: Literal["sum", "mean", "max"],
    indices: torch.Tensor | None = None,
    starts: torch.Tensor | None = None,
    limits: torch.Tensor | None = None,
    active: torch.Tensor | None = None,
) -> None:
    """Update the scores of the first counts[r, h] entries; the others stay, and are not read.

    Entry j of a list lies at indices[r, h, j] of the slot; of a region, at starts[r] + j.

    Args:
        query: (rows, queries, query_heads, head_dim), any float dtype, oldest query first.
        keys: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots: (rows,) int32.
        lse: (rows, queries, query_heads) float32, natural logarithm of the softmax's sum.
        scores: (rows, kv_heads, entries) float32, updated.
        counts: (rows, kv_heads) int32.
        scale: factor of the attention on its dot products.
        decay: weight of the scores so far, after every query.
        reduce: over the query heads that share a KV head.
        indices: (rows, kv_heads, entries) int32; None: a region.
        starts: (rows,) int32 of the region; None: 0. Only without `indices`.
        limits: (rows, queries) int32: a query sees the slot's entries below it; None: all.
        active: (rows,) bool; the scores of other rows stay. None: all are.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit, or indices with starts.
    """
    device = keys.device
    check_arena_layer("keys", keys)
    check_tensor("query", query, (None, None, None, keys.shape[3]), FLOATS, device)
    rows, queries, heads, _ = query.shape
    check_group(heads, keys.shape[1])
    check_tensor("slots", slots, (rows,), INT32, device)
    check_tensor("lse", lse, (rows, queries, heads), FLOAT32, device)
    check_tensor("scores", scores, (rows, keys.shape[1], None), FLOAT32, device)
    check_tensor("counts", counts, scores.shape[:2], INT32, device)
    check_choice("reduce", reduce, ("sum", "mean", "max"))
    if indices is not None:
        check_tensor("indices", indices, scores.shape, INT32, device)
        if starts is not None:
            raise ValueError("want indices of a list or starts of a region, got both")
    if starts is not None:
        check_tensor("starts", starts, (rows,), INT32, device)
    if limits is not None:
        check_tensor("limits", limits, (rows, queries), INT32, device)
    check_active(active, rows, device)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.score_accumulate import score_accumulate_triton as run
    else:
        from murmur_kernels.torch_ops.score_accumulate import score_accumulate_torch as run
    run(
        query,
        keys,
        slots,
        lse,
        scores,
        counts,
        scale,
        decay,
        reduce,
        indices,
        starts,
        limits,
        active,
    )
