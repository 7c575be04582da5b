"""Reference of `murmur_kernels.topk_select`: a sort of tuples, one list at a time."""

from __future__ import annotations

import math

import torch


def topk_select_reference(
    scores: torch.Tensor,
    counts: list[list[int]],
    budgets: list[list[int]],
    width: int,
    protected: torch.Tensor | None = None,
    starts: list[int] | None = None,
) -> list[list[list[int]]]:
    """[row][head]: the list."""
    rows, heads, _ = scores.shape
    lists = []
    for row in range(rows):
        of_row = []
        for head in range(heads):
            count = counts[row][head]
            values = scores[row, head, :count].tolist()
            shield = [False] * count
            if protected is not None:
                shield = protected[row, head, :count].tolist()
            order = sorted(_place(j, values[j], shield[j]) for j in range(count))
            kept = order[: min(max(budgets[row][head], 0), width)]
            start = starts[row] if starts else 0
            of_row.append(sorted(start + place[-1] for place in kept))
        lists.append(of_row)
    return lists


def _place(j: int, score: float, is_protected: bool) -> tuple[bool, bool, float, int]:
    """Sorts entries as the op does."""
    if is_protected or math.isnan(score):
        return (not is_protected, not is_protected, 0.0, j)
    return (True, False, -score, j)
