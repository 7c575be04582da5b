"""Which entries every row of one step reads, checked once and used by all layers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from murmur_kernels.checks import check_ranges, check_slots

if TYPE_CHECKING:
    import torch

    from murmur_kernels.selection import Selection

Range = tuple[int, int]
Ranges = tuple[Range, ...]
"""Ascending, disjoint half-open ranges of entries."""

MAX_RANGES = 6
"""Ranges a row may have: prompt, sinks, window, tail and two halves of a ring."""

TABLE_COLUMNS = 2 + 2 * MAX_RANGES


@dataclass(frozen=True, slots=True)
class StepRanges:
    """Slots and ranges of the rows of one step; made by `step_ranges`, which checks them.

    Attributes:
        slots: arena slot of each row.
        ranges: what each row reads.
        num_slots, capacity: sizes of the arena they were checked against.
        max_entries: entries of the row that reads most; 0 without rows.
        table: (rows, TABLE_COLUMNS) int32 for the compiled kernel, read-only: slot, number of
            ranges, start and end of each range, zeros.
    """

    slots: tuple[int, ...]
    ranges: tuple[Ranges, ...]
    num_slots: int
    capacity: int
    max_entries: int
    table: ctypes.Array[ctypes.c_int32] = field(repr=False, compare=False)
    _on: dict[torch.device, Selection] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def on(self, device: torch.device) -> Selection:
        """The same on a device, copied there when it is first asked for."""
        if device not in self._on:
            from murmur_kernels.selection import Selection

            self._on[device] = Selection.from_step_ranges(self, device)
        return self._on[device]

    def check_fits(self, rows: int, num_slots: int, capacity: int) -> None:
        """Raise ValueError unless these are the sizes that the ranges were checked against."""
        if rows != len(self.slots):
            raise ValueError(
                f"the ranges are those of {len(self.slots)} rows, the query has {rows}"
            )
        if (num_slots, capacity) != (self.num_slots, self.capacity):
            raise ValueError(
                f"the ranges are those of an arena of {self.num_slots} slots of {self.capacity} "
                f"entries, this one has {num_slots} of {capacity}"
            )


def step_ranges(
    slots: Sequence[int], ranges: Sequence[Ranges], *, num_slots: int, capacity: int
) -> StepRanges:
    """Check and pack what each row reads.

    Args:
        slots: arena slot of each row.
        ranges: ascending, disjoint half-open entry ranges of each row, 1 to MAX_RANGES of them.
        num_slots, capacity: slots of the arena and entries of one slot.

    Raises:
        ValueError: slots or ranges that do not fit the arena or each other.
    """
    check_slots(slots, num_slots)
    check_ranges(ranges, len(slots), capacity, MAX_RANGES)
    table: list[int] = []
    max_entries = 0
    for slot, spans in zip(slots, ranges, strict=True):
        edges = [edge for span in spans for edge in span]
        table += [slot, len(spans), *edges, *(0,) * (2 * MAX_RANGES - len(edges))]
        max_entries = max(max_entries, sum(edges[1::2]) - sum(edges[::2]))
    packed = (ctypes.c_int32 * len(table))(*table)
    return StepRanges(tuple(slots), tuple(ranges), num_slots, capacity, max_entries, packed)
