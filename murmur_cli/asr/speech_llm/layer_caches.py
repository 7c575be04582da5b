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
from murmur_cli.engine.speech_offload import OffloadBytes, SpeechOffload, offload_bytes


@dataclass(frozen=True, slots=True)
class LayerKind:
    """What one layer keeps. `producer`: the layer whose entries it reads, None for its own.

    slides: it sees a window of the last positions only.
    """

    kv_heads: int
    head_dim: int
    producer: int | None = None
    slides: bool = False

    @property
    def indexed_heads(self) -> int:
        """KV heads with an index of the speech; none in a layer that slides or has no entries."""
        return 0 if self.slides or self.producer is not None else self.kv_heads


@dataclass(frozen=True, slots=True)
class LayerPlace:
    """Where a layer's entries lie: an arena and the index of the layer in it."""

    arena: KvArena
    index: int
    speech: SpeechIndex | None = None
    """The arena's, under a retrieval policy; none for layers that slide."""
    offload: SpeechOffload | None = None
    """Where the arena's speech is, if it is on the host; `speech` is its index then."""

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

    Args:
        kinds: of the layers.
        slots: of every arena.
        capacity: entries of a slot, with the longest speech among them.
        dtype: of keys and values.
        devices: of the layers.
        retrieval: rule that chooses speech for layers that do not slide.
        max_speech: entries of the longest speech.
        offloads: the speech of layers with an index lies on the host; their slots have room for
            what is chosen, after all other entries.

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
        *,
        offloads: bool = False,
    ) -> None:
        self.slots = slots
        self._indexes: list[tuple[SpeechIndex, SpeechOffload | None, torch.device]] = []
        self.capacity = capacity
        members: dict[tuple[int, int, bool, torch.device], list[int]] = {}
        for layer, (kind, device) in enumerate(zip(kinds, devices, strict=True)):
            if kind.producer is None:
                key = (kind.kv_heads, kind.head_dim, kind.slides, device)
                members.setdefault(key, []).append(layer)
        self._places: dict[int, LayerPlace] = {}
        for (kv_heads, head_dim, slides, device), layers in members.items():
            rule = None if retrieval is None or slides else retrieval.of_layers(layers)
            room, own = capacity, capacity - max_speech
            if rule is not None and offloads:
                room = own + rule.most_read(max_speech)
            arena = KvArena(ArenaShape(len(layers), slots, kv_heads, room, head_dim, dtype, device))
            speech, offload = None, None
            if rule is not None and offloads:
                offload = SpeechOffload(arena, rule, max_speech, own)
                speech = offload.index
            elif rule is not None:
                speech = speech_index(rule, arena, max_speech)
            if speech is not None:
                self._indexes.append((speech, offload, device))
            for index, layer in enumerate(layers):
                self._places[layer] = LayerPlace(arena, index, speech, offload)
        for layer, kind in enumerate(kinds):
            if kind.producer is not None:
                assert kinds[kind.producer].producer is None, kind
                self._places[layer] = self._places[kind.producer]

    def begin(self, rows: SpeechRows) -> None:
        """A prompt is about to be read into these slots."""
        for index, offload, device in self._indexes:
            index.begin(_there(rows, offload, device))

    def settle(self, rows: SpeechRows) -> None:
        """The prompt with its speech has been read: index it."""
        for index, offload, device in self._indexes:
            there = _there(rows, offload, device)
            index.build(there)
            index.settle(there)

    def of(self, layer: int) -> LayerPlace:
        """The place of a layer's entries."""
        return self._places[layer]

    @property
    def offloads(self) -> tuple[SpeechOffload, ...]:
        """Of all arenas whose speech is on the host."""
        return tuple(offload for _, offload, _ in self._indexes if offload is not None)


def _there(rows: SpeechRows, offload: SpeechOffload | None, device: torch.device) -> SpeechRows:
    """The rows as an index knows them."""
    return replace(rows, device=device) if offload is None else offload.host_rows(rows)


def indexes_bytes(
    kinds: Sequence[LayerKind],
    slots: int,
    capacity: int,
    dtype: torch.dtype,
    retrieval: RetrievalRule,
    max_speech: int,
) -> int:
    """Bytes of the state of all indexes of so many slots."""
    members = _indexed(kinds)
    device = torch.device("meta")
    return sum(
        index_bytes(
            retrieval.of_layers(layers),
            ArenaShape(len(layers), slots, kv_heads, capacity, head_dim, dtype, device),
            max_speech,
        )
        for (kv_heads, head_dim), layers in members.items()
    )


def offloads_bytes(
    kinds: Sequence[LayerKind],
    slots: int,
    dtype: torch.dtype,
    retrieval: RetrievalRule,
    max_speech: int,
) -> OffloadBytes:
    """What the speech of layers with an index takes, of so many slots, if it is offloaded."""
    device = torch.device("meta")
    found = [
        offload_bytes(
            retrieval.of_layers(layers),
            ArenaShape(len(layers), slots, kv_heads, 0, head_dim, dtype, device),
            max_speech,
        )
        for (kv_heads, head_dim), layers in _indexed(kinds).items()
    ]
    return sum(found, start=OffloadBytes(0, 0))


def _indexed(kinds: Sequence[LayerKind]) -> dict[tuple[int, int], list[int]]:
    """(KV heads, head size) → layers of that kind whose speech an index chooses from."""
    members: dict[tuple[int, int], list[int]] = {}
    for layer, kind in enumerate(kinds):
        if kind.producer is None and not kind.slides:
            members.setdefault((kind.kv_heads, kind.head_dim), []).append(layer)
    return members


def bytes_per_entry(kinds: Sequence[LayerKind], dtype: torch.dtype) -> int:
    """Bytes of key and value of one entry, over all layers that keep their own."""
    numbers = sum(2 * kind.kv_heads * kind.head_dim for kind in kinds if kind.producer is None)
    return numbers * dtype.itemsize


def bytes_read_per_entry(kinds: Sequence[LayerKind], dtype: torch.dtype) -> int:
    """Bytes that a step reads for one selected entry, over all layers; shared ones count again."""
    return sum(2 * kind.kv_heads * kind.head_dim for kind in kinds) * dtype.itemsize
