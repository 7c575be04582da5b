"""Keys and values of all layers of a decoder-only model, over the engine's slots.

Layers of one model may differ in KV heads and head size (Gemma 4), and may lie on several devices
(a model larger than one), so there is an arena for each kind on each device; all arenas have the
same slots and capacity. A layer that shares another layer's keys and
values has none of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from murmur_cli.engine.arena import ArenaShape, KvArena
from murmur_cli.engine.indexes.registry import index_bytes, speech_index
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.speech_index import SpeechIndex, SpeechRows


@dataclass(frozen=True, slots=True)
class LayerKind:
    """What one layer keeps. `producer`: the layer whose entries it reads, None for its own.

    slides: it sees a window of the last positions only.
    """

    kv_heads: int
    head_dim: int
    producer: int | None = None
    slides: bool = False


@dataclass(frozen=True, slots=True)
class LayerPlace:
    """Where a layer's entries lie: an arena and the index of the layer in it."""

    arena: KvArena
    index: int
    speech: SpeechIndex | None = None
    """The arena's, under a retrieval policy; none for layers that slide."""

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
        devices: Sequence[torch.device],
        retrieval: RetrievalRule | None = None,
        max_speech: int = 0,
    ) -> None:
        self.slots = slots
        self._indexes: list[tuple[SpeechIndex, torch.device]] = []
        self.capacity = capacity
        members: dict[tuple[int, int, bool, torch.device], list[int]] = {}
        for layer, (kind, device) in enumerate(zip(kinds, devices, strict=True)):
            if kind.producer is None:
                key = (kind.kv_heads, kind.head_dim, kind.slides, device)
                members.setdefault(key, []).append(layer)
        self._places: dict[int, LayerPlace] = {}
        for (kv_heads, head_dim, slides, device), layers in members.items():
            shape = ArenaShape(len(layers), slots, kv_heads, capacity, head_dim, dtype, device)
            arena = KvArena(shape)
            speech = None
            if retrieval is not None and not slides:
                speech = speech_index(retrieval.of_layers(layers), arena, max_speech)
                self._indexes.append((speech, device))
            for index, layer in enumerate(layers):
                self._places[layer] = LayerPlace(arena, index, speech)
        for layer, kind in enumerate(kinds):
            if kind.producer is not None:
                assert kinds[kind.producer].producer is None, kind
                self._places[layer] = self._places[kind.producer]

    def begin(self, rows: SpeechRows) -> None:
        """A prompt is about to be read into these slots."""
        for index, device in self._indexes:
            index.begin(replace(rows, device=device))

    def settle(self, rows: SpeechRows) -> None:
        """The prompt with its speech has been read: index it."""
        for index, device in self._indexes:
            there = replace(rows, device=device)
            index.build(there)
            index.settle(there)

    def of(self, layer: int) -> LayerPlace:
        """The place of a layer's entries."""
        return self._places[layer]


def indexes_bytes(
    kinds: Sequence[LayerKind],
    slots: int,
    capacity: int,
    dtype: torch.dtype,
    retrieval: RetrievalRule,
    max_speech: int,
) -> int:
    """Bytes of the state of all indexes of so many slots."""
    members: dict[tuple[int, int], list[int]] = {}
    for layer, kind in enumerate(kinds):
        if kind.producer is None and not kind.slides:
            members.setdefault((kind.kv_heads, kind.head_dim), []).append(layer)
    device = torch.device("meta")
    return sum(
        index_bytes(
            retrieval.of_layers(layers),
            ArenaShape(len(layers), slots, kv_heads, capacity, head_dim, dtype, device),
            max_speech,
        )
        for (kv_heads, head_dim), layers in members.items()
    )


def bytes_per_entry(kinds: Sequence[LayerKind], dtype: torch.dtype) -> int:
    """Bytes of key and value of one entry, over all layers that keep their own."""
    numbers = sum(2 * kind.kv_heads * kind.head_dim for kind in kinds if kind.producer is None)
    return numbers * dtype.itemsize


def bytes_read_per_entry(kinds: Sequence[LayerKind], dtype: torch.dtype) -> int:
    """Bytes that a step reads for one selected entry, over all layers; shared ones count again."""
    return sum(2 * kind.kv_heads * kind.head_dim for kind in kinds) * dtype.itemsize
