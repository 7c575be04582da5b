"""Keys and values of all layers of a decoder-only model, over the engine's slots.

Layers of one model may differ in KV heads and head size (Gemma 4), so there is an arena for each
kind; all arenas have the same slots and capacity. A layer that shares another layer's keys and
values has none of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_cli.engine.arena import ArenaShape, KvArena


@dataclass(frozen=True, slots=True)
class LayerKind:
    """What one layer keeps. `producer`: the layer whose entries it reads, None for its own."""

    kv_heads: int
    head_dim: int
    producer: int | None = None


@dataclass(frozen=True, slots=True)
class LayerPlace:
    """Where a layer's entries lie: an arena and the index of the layer in it."""

    arena: KvArena
    index: int

    @property
    def keys(self) -> torch.Tensor:
        """(slots, kv_heads, capacity, head_dim)"""
        return self.arena.keys[self.index]

    @property
    def values(self) -> torch.Tensor:
        """(slots, kv_heads, capacity, head_dim)"""
        return self.arena.values[self.index]


class LayerCaches:
    """The arenas, allocated at once, and the place of each layer.

    Raises:
        MemoryError, RuntimeError: what the allocator raises.
    """

    def __init__(
        self,
        kinds: Sequence[LayerKind],
        slots: int,
        capacity: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.slots = slots
        self.capacity = capacity
        members: dict[tuple[int, int], list[int]] = {}
        for layer, kind in enumerate(kinds):
            if kind.producer is None:
                members.setdefault((kind.kv_heads, kind.head_dim), []).append(layer)
        self._places: dict[int, LayerPlace] = {}
        for (kv_heads, head_dim), layers in members.items():
            shape = ArenaShape(len(layers), slots, kv_heads, capacity, head_dim, dtype, device)
            arena = KvArena(shape)
            for index, layer in enumerate(layers):
                self._places[layer] = LayerPlace(arena, index)
        for layer, kind in enumerate(kinds):
            if kind.producer is not None:
                assert kinds[kind.producer].producer is None, kind
                self._places[layer] = self._places[kind.producer]

    def of(self, layer: int) -> LayerPlace:
        """The place of a layer's entries."""
        return self._places[layer]


def bytes_per_entry(kinds: Sequence[LayerKind], dtype: torch.dtype) -> int:
    """Bytes of key and value of one entry, over all layers that keep their own."""
    numbers = sum(2 * kind.kv_heads * kind.head_dim for kind in kinds if kind.producer is None)
    return numbers * dtype.itemsize


def bytes_read_per_entry(kinds: Sequence[LayerKind], dtype: torch.dtype) -> int:
    """Bytes that a step reads for one selected entry, over all layers; shared ones count again."""
    return sum(2 * kind.kv_heads * kind.head_dim for kind in kinds) * dtype.itemsize
