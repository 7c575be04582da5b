"""Scores pages for a query from the statistics of their keys.

    s_i[p] = sum_c max(q_i[c] low[c], q_i[c] high[c])                   'minmax'        (Quest)
           = q_i . mean + weight * sum_c |q_i[c]| std[c]                'deviation'     (UNIQUE)
           = q_i . mean + weight * ||q_i|| * mean_c std[c]              'norm'
           = q_i . mean / sqrt(d) + weight * sum_c q_i[c]^2 std[c]^2 / (2 d)    'second_order'

    score[r, h, p] = max or mean of s_i[p] over the query heads i of KV head h

'minmax' bounds every q . k of the page from above. UNIQUE's formula is not published; 'deviation'
is our reading, and equals 'minmax' for pages of two entries; the last two are other readings
('second_order': the logarithm of the mean of exp(q . k / sqrt(d)), to second order). A weight of 0
scores by the mean key alone.
"""

from __future__ import annotations

import math
from typing import Literal

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import (
    FLOAT32,
    FLOATS,
    INT32,
    check_active,
    check_choice,
    check_group,
    check_tensor,
)

PageScoreFormula = Literal["minmax", "deviation", "norm", "second_order"]
GroupReduce = Literal["max", "mean"]


def page_score(
    query: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    page_counts: torch.Tensor,
    *,
    formula: PageScoreFormula,
    reduce: GroupReduce,
    weight: float = 1.0,
    active: torch.Tensor | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Score every page of every (row, KV head); -inf where there is no page.

    Args:
        query: (rows, query_heads, head_dim), any float dtype.
        low, high: (rows, kv_heads, pages, head_dim) float32, of `page_stats`: 'minmax' for the
            formula of this name, 'deviation' for the others.
        page_counts: (rows,) int32; pages beyond are not read.
        formula: which score.
        reduce: over the query heads that share a KV head.
        weight: of the term of the deviation.
        active: (rows,) bool; the scores of other rows keep what `out` holds. None: all are.
        out: (rows, kv_heads, pages) float32, written. None: new, and -inf where not active.

    Returns:
        `out`.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    device = query.device
    check_tensor("query", query, (None, None, None), FLOATS, device)
    rows, heads, dim = query.shape
    check_tensor("low", low, (rows, None, None, dim), FLOAT32, device)
    check_group(heads, low.shape[1])
    check_tensor("high", high, low.shape, FLOAT32, device)
    check_tensor("page_counts", page_counts, (rows,), INT32, device)
    check_choice("formula", formula, ("minmax", "deviation", "norm", "second_order"))
    check_choice("reduce", reduce, ("max", "mean"))
    check_active(active, rows, device)
    if out is None:
        out = torch.full(low.shape[:3], -math.inf, device=device)
    check_tensor("out", out, low.shape[:3], FLOAT32, device)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.page_score import page_score_triton as run
    else:
        from murmur_kernels.torch_ops.page_score import page_score_torch as run
    run(query, low, high, page_counts, formula, reduce, weight, active, out)
    return out
