"""Scores groups of entries for a query by their centroids, and averages the scores over steps.

    s_i[n] = scale * q_i . c_n + bias[n]                               'dot'
           = scale * q_i . c_n / (||q_i|| ||c_n||) + bias[n]           'cosine' (0 for zero vectors)

    score[r, h, n]   = max or mean of s_i[n] over the query heads i of KV head h
    average[r, h, n] = decay * average[r, h, n] + (1 - decay) * score[r, h, n]

C3 ranks by 'cosine' and 'max', ClusterKV by 'dot'. With scale that of the attention and the
logarithms of the groups' sizes as bias, 'dot' ranks by each group's estimated mass.
"""

from __future__ import annotations

import math
from typing import Literal

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import (
    BOOL,
    FLOAT32,
    FLOATS,
    INT32,
    check_active,
    check_choice,
    check_group,
    check_tensor,
)

CentroidMetric = Literal["dot", "cosine"]


def centroid_score(
    query: torch.Tensor,
    centroids: torch.Tensor,
    counts: torch.Tensor,
    *,
    metric: CentroidMetric,
    reduce: Literal["max", "mean"],
    scale: float = 1.0,
    bias: torch.Tensor | None = None,
    average: torch.Tensor | None = None,
    decay: float = 0.5,
    fresh: torch.Tensor | None = None,
    active: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Score every group of every (row, KV head); -inf where there is none.

    Args:
        query: (rows, query_heads, head_dim), any float dtype.
        centroids: (rows, kv_heads, groups, head_dim), any float dtype.
        counts: (rows, kv_heads) int32; groups beyond are not read.
        metric, reduce: how a group scores, and for which of the query heads of a KV head.
        scale: factor on the product.
        bias: (rows, kv_heads, groups) float32, added. None: nothing.
        average: (rows, kv_heads, groups) float32, updated where there is a group. None: none.
        decay: weight of the past in the average.
        fresh: (rows,) bool; their average has no past and becomes the score. None: no row.
        active: (rows,) bool; other rows' average and `out` stay as they are. None: all are.
        out: (rows, kv_heads, groups) float32, written. None: new, and -inf where not active.

    Returns:
        `out`.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    device = query.device
    check_tensor("query", query, (None, None, None), FLOATS, device)
    rows, heads, dim = query.shape
    check_tensor("centroids", centroids, (rows, None, None, dim), FLOATS, device)
    check_group(heads, centroids.shape[1])
    shape = centroids.shape[:3]
    check_tensor("counts", counts, shape[:2], INT32, device)
    check_choice("metric", metric, ("dot", "cosine"))
    check_choice("reduce", reduce, ("max", "mean"))
    for name, tensor in (("bias", bias), ("average", average)):
        if tensor is not None:
            check_tensor(name, tensor, shape, FLOAT32, device)
    if fresh is not None:
        check_tensor("fresh", fresh, (rows,), BOOL, device)
    check_active(active, rows, device)
    if out is None:
        out = torch.full(shape, -math.inf, device=device)
    check_tensor("out", out, shape, FLOAT32, device)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.centroid_score import centroid_score_triton as run
    else:
        from murmur_kernels.torch_ops.centroid_score import centroid_score_torch as run
    run(
        query,
        centroids,
        counts,
        metric,
        reduce,
        scale,
        bias,
        average,
        decay,
        fresh,
        active,
        out,
    )
    return out
