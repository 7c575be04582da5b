"""The preallocated keys and values that all rows share.

An arena is planned before the first step and never grows. A row lives in one slot; eviction
changes which entries are read, never where they lie.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class ArenaShape:
    """Sizes of one arena; `capacity` counts entries of one slot."""

    layers: int
    slots: int
    kv_heads: int
    capacity: int
    head_dim: int
    dtype: torch.dtype
    device: torch.device

    @property
    def bytes_per_entry(self) -> int:
        """Bytes of key and value of one entry, over all layers and heads."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.dtype.itemsize

    @property
    def total_bytes(self) -> int:
        """Bytes of the whole arena."""
        return self.slots * self.capacity * self.bytes_per_entry


class KvArena:
    """Keys and values, each of shape (layers, slots, kv_heads, capacity, head_dim).

    pinned: in host memory that a CUDA device can copy from while it computes.
    """

    def __init__(self, shape: ArenaShape, *, pinned: bool = False) -> None:
        self.shape = shape
        size = (shape.layers, shape.slots, shape.kv_heads, shape.capacity, shape.head_dim)
        self.keys, self.values = (
            torch.empty(size, dtype=shape.dtype, device=shape.device, pin_memory=pinned)
            for _ in range(2)
        )

    def write_block(
        self, layer: int, slots: list[int], keys: torch.Tensor, values: torch.Tensor
    ) -> None:
        """Fill the first entries of slots: keys, values (rows, kv_heads, entries, head_dim)."""
        entries = keys.shape[2]
        assert entries <= self.shape.capacity, (entries, self.shape.capacity)
        for row, slot in enumerate(slots):
            self.keys[layer, slot, :, :entries] = keys[row]
            self.values[layer, slot, :, :entries] = values[row]

    def write_entries(
        self,
        layer: int,
        slots: torch.Tensor,
        entries: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> None:
        """Write one entry a row: slots, entries (rows,) int64; keys, values (rows, heads, dim)."""
        self.keys[layer, slots, :, entries] = keys
        self.values[layer, slots, :, entries] = values


@dataclass(frozen=True, slots=True)
class OutputRing:
    """Where output entries lie in a self-attention slot: after `prompt` entries, in a ring.

    Entry j of the output region lies at prompt + j while j < sinks + window; later ones
    overwrite the window part in turn, oldest first. Without a bound (`window` None) it is
    simply prompt + j.
    """

    prompt: int
    sinks: int
    window: int | None

    def place(self, entry: int) -> int:
        """Slot entry where output entry `entry` is stored."""
        if self.window is None or entry < self.sinks + self.window:
            return self.prompt + entry
        return self.prompt + self.sinks + (entry - self.sinks) % self.window

    def place_range(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """Ranges of slot entries that hold output entries [start, end)."""
        if self.window is None or end <= self.sinks + self.window:
            return ((self.prompt + start, self.prompt + end),)
        assert start >= self.sinks, (start, end, self.sinks)
        assert end - start <= self.window, (start, end, self.window)
        first, last = self.place(start), self.place(end - 1) + 1
        if first < last:
            return ((first, last),)
        ring_start = self.prompt + self.sinks
        return ((ring_start, last), (first, ring_start + self.window))
