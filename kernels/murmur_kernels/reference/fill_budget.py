"""References of `murmur_kernels.fill_budget` and `fill_ranges`: one group after the other."""

from __future__ import annotations

import torch

Spans = list[tuple[int, int]]


def fill_reference(
    order: list[int], nodes: Spans, budget: int, max_ranges: int | None = None
) -> tuple[Spans, Spans]:
    """Of one (row, KV head): the places that are taken, and those that are left, group by group."""
    taken: Spans = []
    left: Spans = []
    missing = max(budget, 0)
    for group in order:
        start, end = nodes[group]
        size = min(missing, end - start)
        if max_ranges is not None and len(taken) == max_ranges:
            size = 0
        missing -= size
        if size:
            taken.append((start, start + size))
        if start + size < end:
            left.append((start + size, end))
    return taken, left


def fill_budget_reference(
    order: list[int], nodes: Spans, budget: int, permutation: torch.Tensor, start: int
) -> list[int]:
    """Of one (row, KV head): the index list."""
    taken, _ = fill_reference(order, nodes, budget)
    places = [place for first, last in taken for place in range(first, last)]
    return [start + int(permutation[place]) for place in places]
