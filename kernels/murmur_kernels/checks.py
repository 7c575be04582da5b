"""Checks of shapes, devices and ranges; messages name sizes, never print tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def check_arena(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, slots: Sequence[int]
) -> None:
    """Raise ValueError unless query, arena and slots fit each other."""
    if query.dim() != 3 or keys.dim() != 4 or keys.shape != values.shape:
        raise ValueError(
            "want query (rows, heads, dim), equal keys and values (slots, heads, capacity, dim); "
            f"got {tuple(query.shape)}, {tuple(keys.shape)}, {tuple(values.shape)}"
        )
    rows, heads, dim = query.shape
    if dim != keys.shape[3] or heads % keys.shape[1]:
        raise ValueError(
            f"{heads} query heads of size {dim} do not fit "
            f"{keys.shape[1]} KV heads of size {keys.shape[3]}"
        )
    if len(slots) != rows:
        raise ValueError(f"{rows} rows need {rows} slots, got {len(slots)}")
    for slot in slots:
        if not 0 <= slot < keys.shape[0]:
            raise ValueError(f"slot {slot} is outside the arena of {keys.shape[0]} slots")


def check_ranges(ranges: Sequence[tuple[tuple[int, int], ...]], rows: int, capacity: int) -> None:
    """Raise ValueError unless every row has ascending, disjoint ranges within the capacity."""
    if len(ranges) != rows:
        raise ValueError(f"{rows} rows need {rows} range lists, got {len(ranges)}")
    for row, spans in enumerate(ranges):
        previous_end = 0
        for start, end in spans:
            if not previous_end <= start < end <= capacity:
                raise ValueError(
                    f"row {row}: range ({start}, {end}) is empty, out of order or beyond {capacity}"
                )
            previous_end = end
        if not spans:
            raise ValueError(f"row {row} selects no entry")
