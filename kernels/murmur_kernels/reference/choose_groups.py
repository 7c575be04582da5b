"""Float64 reference of `murmur_kernels.choose_groups`: one group at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from murmur_kernels.selection import MOST_GAIN


@dataclass(frozen=True, slots=True)
class Read:
    """What one row and KV head reads: (group, entries taken from its start), best first."""

    taken: list[tuple[int, int]]

    @property
    def entries(self) -> int:
        """How many entries that are."""
        return sum(size for _, size in self.taken)


def group_score_reference(
    queries: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor | None,
    *,
    formula: str,
    reduce: str,
    scale: float,
    weight: float,
    log_size: float | None,
    deviation: float = 0.0,
    reach: float = 0.0,
) -> float:
    """Of one group, for the query heads (heads, head_dim) of one KV head; log_size: by mass."""
    scores = []
    for q in queries.double():
        c, dim = low.double(), len(low)
        h = torch.zeros(dim).double() if high is None else high.double()
        if formula == "cosine":
            lengths = float(q.norm() * c.norm())
            score = float(q @ c) / lengths if lengths > 0 else 0.0
        elif formula == "dot":
            steps = abs(scale) * float(q.norm()) * deviation
            gain = min(steps**2 / 2, MOST_GAIN)
            score = scale * float(q @ c) + (log_size or 0.0) + gain + reach * steps
        elif formula == "minmax":
            score = float(torch.maximum(q * c, q * h).sum())
        elif formula == "deviation":
            score = float(q @ c + weight * (q.abs() @ h))
        elif formula == "norm":
            score = float(q @ c + weight * q.norm() * h.mean())
        else:
            assert formula == "second_order", formula
            score = float(q @ c / math.sqrt(dim) + weight * (q.square() @ h.square()) / (2 * dim))
        scores.append(score)
    return max(scores) if reduce == "max" else sum(scores) / len(scores)


def choose_groups_reference(
    scores: list[float], sizes: list[int], budget: int, *, whole: bool, room: int
) -> Read:
    """Groups with entries, best first; `whole`: none is cut, the first that would be ends it."""
    order = sorted((g for g, size in enumerate(sizes) if size), key=lambda g: (-scores[g], g))
    taken: list[tuple[int, int]] = []
    for group in order[:room]:
        left = budget - sum(size for _, size in taken)
        size = min(sizes[group], left)
        if size == 0 or (whole and size < sizes[group]):
            break
        taken.append((group, size))
    return Read(taken)
