"""`page_score` as matrix products, which is what all its formulas are."""

from __future__ import annotations

import math

import torch


def page_score_torch(
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
    number = max(0, min(int(page_counts.max()), pages)) if rows else 0
    low, high = low[:, :, :number], high[:, :, :number]
    q = query.float().view(rows, kv_heads, heads // kv_heads, dim)
    if formula == "minmax":
        # low <= high: a positive factor takes high, a negative one low
        scores = q.clamp(min=0) @ high.mT + q.clamp(max=0) @ low.mT
    elif formula == "deviation":
        scores = q @ low.mT + weight * (q.abs() @ high.mT)
    elif formula == "norm":
        spread = high.mean(dim=3).unsqueeze(2)
        scores = q @ low.mT + weight * torch.linalg.vector_norm(q, dim=3, keepdim=True) * spread
    else:
        scores = q @ low.mT / math.sqrt(dim)
        scores = scores + weight / (2 * dim) * (q.square() @ high.square().mT)
    reduced = scores.amax(dim=2) if reduce == "max" else scores.mean(dim=2)
    page = torch.arange(number)
    reduced = reduced.masked_fill((page >= page_counts[:, None])[:, None], -math.inf)
    if active is None:
        out[:, :, :number] = reduced
        out[:, :, number:] = -math.inf
    else:
        out[:, :, :number][active] = reduced[active]
        out[:, :, number:][active] = -math.inf
