"""Float64 reference of `murmur_kernels.page_score`, one page at a time."""

from __future__ import annotations

import math

import torch


def page_score_reference(
    query: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    page_counts: list[int],
    formula: str,
    reduce: str,
    weight: float,
) -> torch.Tensor:
    """Same result as the op, float64; -inf beyond a row's pages."""
    rows, kv_heads, pages, _ = low.shape
    group = query.shape[1] // kv_heads
    out = torch.full((rows, kv_heads, pages), -math.inf, dtype=torch.float64)
    for row in range(rows):
        for head in range(kv_heads):
            for page in range(page_counts[row]):
                scores = [
                    _score(
                        query[row, head * group + member].double(),
                        low[row, head, page].double(),
                        high[row, head, page].double(),
                        formula,
                        weight,
                    )
                    for member in range(group)
                ]
                out[row, head, page] = max(scores) if reduce == "max" else sum(scores) / group
    return out


def _score(
    q: torch.Tensor, low: torch.Tensor, high: torch.Tensor, formula: str, weight: float
) -> float:
    dim = len(q)
    if formula == "minmax":
        return float(torch.maximum(q * low, q * high).sum())
    if formula == "deviation":
        return float(q @ low + weight * (q.abs() @ high))
    if formula == "norm":
        return float(q @ low + weight * q.norm() * high.mean())
    return float(q @ low / math.sqrt(dim) + weight * (q**2 @ high**2) / (2 * dim))
