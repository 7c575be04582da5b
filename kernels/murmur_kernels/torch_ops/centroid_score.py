"""`centroid_score` as one matrix product per KV head."""

from __future__ import annotations

import math

import torch


def centroid_score_torch(
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
    q = query.float().view(rows, kv_heads, heads // kv_heads, dim)
    c = centroids.float()
    if metric == "cosine":
        q, c = _unit(q), _unit(c)
    scores = q @ c.mT * scale
    if bias is not None:
        scores = scores + bias.unsqueeze(2)
    reduced = scores.amax(dim=2) if reduce == "max" else scores.mean(dim=2)
    used = torch.arange(groups) < counts.unsqueeze(2)
    reduced = reduced.masked_fill(~used, -math.inf)
    if average is not None:
        mixed = decay * average + (1 - decay) * reduced
        if fresh is not None:
            mixed = torch.where(fresh[:, None, None], reduced, mixed)
        changed = used if active is None else used & active[:, None, None]
        average.copy_(torch.where(changed, mixed, average))
    if active is None:
        out.copy_(reduced)
    else:
        out[active] = reduced[active]


def _unit(vectors: torch.Tensor) -> torch.Tensor:
    """Vectors of length one; a zero vector stays one."""
    lengths: torch.Tensor = torch.linalg.vector_norm(vectors, dim=-1, keepdim=True)
    return vectors / lengths.masked_fill(lengths == 0, 1.0)
