"""Checks of shapes, dtypes and ranges; messages name sizes, never print tensors."""

from __future__ import annotations

from collections.abc import Sequence

import torch

ARENA_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def check_arena(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
    """Raise ValueError unless query, keys and values fit each other."""
    if query.dim() != 3 or keys.dim() != 4 or keys.shape != values.shape:
        raise ValueError(
            "want query (rows, heads, dim), equal keys and values (slots, heads, capacity, dim); "
            f"got {tuple(query.shape)}, {tuple(keys.shape)}, {tuple(values.shape)}"
        )
    _, heads, dim = query.shape
    if dim != keys.shape[3] or heads % keys.shape[1]:
        raise ValueError(
            f"{heads} query heads of size {dim} do not fit "
            f"{keys.shape[1]} KV heads of size {keys.shape[3]}"
        )
    if keys.dtype not in ARENA_DTYPES or values.dtype != keys.dtype:
        raise ValueError(
            "want keys and values of one dtype, float32, float16 or bfloat16; "
            f"got {keys.dtype}, {values.dtype}"
        )
    if query.dtype not in (torch.float32, keys.dtype):
        raise ValueError(f"want a query of float32 or {keys.dtype}, got {query.dtype}")
    if keys.stride(3) != 1 or values.stride(3) != 1:
        raise ValueError(
            "want keys and values with a contiguous last axis; "
            f"got strides {keys.stride()}, {values.stride()}"
        )
    if not query.device == keys.device == values.device:
        raise ValueError(f"want one device; got {query.device}, {keys.device}, {values.device}")


def check_slots(slots: Sequence[int], num_slots: int) -> None:
    """Raise ValueError unless every slot is one of the arena's."""
    for slot in slots:
        if not 0 <= slot < num_slots:
            raise ValueError(f"slot {slot} is outside the arena of {num_slots} slots")


def check_ranges(
    ranges: Sequence[tuple[tuple[int, int], ...]], rows: int, capacity: int, max_ranges: int
) -> None:
    """Raise ValueError unless every row has ascending, disjoint ranges within the capacity."""
    if len(ranges) != rows:
        raise ValueError(f"{rows} slots need {rows} range lists, got {len(ranges)}")
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
        if len(spans) > max_ranges:
            raise ValueError(f"row {row} has {len(spans)} ranges, at most {max_ranges} are allowed")


def check_probe_heads(probe_heads: Sequence[int], heads: int) -> None:
    """Raise ValueError unless every probe head is a query head."""
    for head in probe_heads:
        if not 0 <= head < heads:
            raise ValueError(f"probe head {head} is not one of {heads} query heads")


def check_within(ranges: Sequence[tuple[tuple[int, int], ...]], capacity: int) -> None:
    """Raise ValueError unless all ranges lie within the capacity, in whatever order."""
    for row, spans in enumerate(ranges):
        for start, end in spans:
            if not 0 <= start <= end <= capacity:
                raise ValueError(
                    f"row {row}: range ({start}, {end}) is reversed or beyond {capacity}"
                )
