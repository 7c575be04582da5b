"""Looks at the numbers that a selection holds; messages name the row, head, value and limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from murmur_kernels.selection import Selection


def check_contents(selection: Selection, num_slots: int, capacity: int) -> None:
    """`Selection.check_contents`."""
    active = selection.active.tolist()
    rows = [row for row, is_active in enumerate(active) if is_active]
    slots = selection.slots.tolist()
    terms: dict[tuple[int, int], int] = {}
    for row in rows:
        if not 0 <= slots[row] < num_slots:
            raise ValueError(f"row {row}: slot {slots[row]} is outside 0 to {num_slots - 1}")
    shared = _counts("num_ranges", selection.num_ranges[:, None], selection.ranges.shape[1], rows)
    for (row, _), number in shared.items():
        spans = selection.ranges[row, :number].tolist()
        terms[row, 0] = _range_entries(f"row {row}", spans, capacity)
    per_head: dict[tuple[int, int], int] = {}
    if selection.head_ranges is not None and selection.num_head_ranges is not None:
        size = selection.head_ranges.shape[2]
        found = _counts("num_head_ranges", selection.num_head_ranges, size, rows)
        for (row, head), number in found.items():
            spans = selection.head_ranges[row, head, :number].tolist()
            entries = _range_entries(f"row {row}, KV head {head}", spans, capacity)
            per_head[row, head] = per_head.get((row, head), 0) + entries
    if selection.indices is not None and selection.num_indices is not None:
        size = selection.indices.shape[2]
        found = _counts("num_indices", selection.num_indices, size, rows)
        for (row, head), number in found.items():
            for entry in selection.indices[row, head, :number].tolist():
                if not 0 <= entry < capacity:
                    raise ValueError(
                        f"row {row}, KV head {head}: entry {entry} is outside 0 to {capacity - 1}"
                    )
            per_head[row, head] = per_head.get((row, head), 0) + number
    if selection.summaries is not None:
        size = selection.summaries.keys.shape[2]
        found = _counts("summaries.counts", selection.summaries.counts, size, rows)
        for key, number in found.items():
            per_head[key] = per_head.get(key, 0) + number
    bound = selection.terms_bound(capacity)
    for row, head in per_head or shared:
        total = terms[row, 0] + per_head.get((row, head), 0)
        if total > bound:
            raise ValueError(
                f"row {row}, KV head {head} has {total} terms, at most {bound} are allowed"
            )


def _counts(
    name: str, counts: torch.Tensor, limit: int, rows: Sequence[int]
) -> dict[tuple[int, int], int]:
    """Counts (rows, heads) of the given rows, each within 0 and the limit."""
    found = {}
    table = counts.tolist()
    for row in rows:
        for head, number in enumerate(table[row]):
            if not 0 <= number <= limit:
                raise ValueError(f"row {row}: {name} is {number}, want 0 to {limit}")
            found[row, head] = number
    return found


def _range_entries(where: str, spans: Sequence[Sequence[int]], capacity: int) -> int:
    for start, end in spans:
        if not 0 <= start <= end <= capacity:
            raise ValueError(f"{where}: range ({start}, {end}) is reversed or beyond {capacity}")
    return sum(end - start for start, end in spans)
