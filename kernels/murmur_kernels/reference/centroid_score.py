"""Float64 reference of the scores of `murmur_kernels.centroid_score`, one group at a time."""

from __future__ import annotations

import math

import torch


def centroid_score_reference(
    query: torch.Tensor,
    centroids: torch.Tensor,
    counts: list[list[int]],
    metric: str,
    reduce: str,
    scale: float = 1.0,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """(rows, kv_heads, groups) float64; -inf beyond the counts."""
    rows, kv_heads, groups, _ = centroids.shape
    members = query.shape[1] // kv_heads
    out = torch.full((rows, kv_heads, groups), -math.inf, dtype=torch.float64)
    for row in range(rows):
        for head in range(kv_heads):
            for group in range(counts[row][head]):
                c = centroids[row, head, group].double()
                scores = []
                for member in range(members):
                    q = query[row, head * members + member].double()
                    score = float(q @ c)
                    if metric == "cosine" and score != 0:
                        score /= float(q.norm() * c.norm())
                    scores.append(scale * score)
                best = max(scores) if reduce == "max" else sum(scores) / members
                out[row, head, group] = best + (
                    0 if bias is None else float(bias[row, head, group])
                )
    return out
