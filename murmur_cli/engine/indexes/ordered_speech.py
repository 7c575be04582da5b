"""Speech that is stored in an order of its own for each KV head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import PrefixSums, prefix_sums, reorder_entries


@dataclass(frozen=True, slots=True)
class LayerRows:
    """Rows in one layer or in all, as rows of an arena with layers * slots slots.

    Attributes:
        keys, values: (layers * slots, kv_heads, capacity, head_dim), views.
        slots, starts, lengths: of each layer and row, int32.
    """

    keys: torch.Tensor
    values: torch.Tensor
    slots: torch.Tensor
    starts: torch.Tensor
    lengths: torch.Tensor


class OrderedSpeech:
    """The permutation of all slots.

    Attributes:
        permutation: (layers, slots, kv_heads, places) int32; place p of the region holds what was
            written as entry permutation[p].
    """

    def __init__(self, arena: KvArena, places: int) -> None:
        shape = arena.shape
        self._arena = arena
        leading = (shape.layers, shape.slots, shape.kv_heads)
        self.permutation = torch.zeros(*leading, places, dtype=torch.int32, device=shape.device)

    def all_layers(self, rows: SpeechRows) -> LayerRows:
        """The rows in every layer."""
        shape = self._arena.shape
        layer = torch.arange(shape.layers, dtype=torch.int32, device=rows.device)
        slots = (layer[:, None] * shape.slots + rows.slot_index).flatten()
        return LayerRows(
            keys=self._arena.keys.flatten(0, 1),
            values=self._arena.values.flatten(0, 1),
            slots=slots,
            starts=rows.first_entries.repeat(shape.layers),
            lengths=rows.entries.repeat(shape.layers),
        )

    def one_layer(self, rows: SpeechRows, layer: int) -> LayerRows:
        """The rows in one layer."""
        return LayerRows(
            keys=self._arena.keys.flatten(0, 1),
            values=self._arena.values.flatten(0, 1),
            slots=rows.slot_index + layer * self._arena.shape.slots,
            starts=rows.first_entries,
            lengths=rows.entries,
        )

    def store(self, flat: LayerRows, permutation: torch.Tensor) -> tuple[PrefixSums, PrefixSums]:
        """Rewrite keys and values in this order, (rows, kv_heads, places); their prefix sums."""
        keys, values = (
            prefix_sums(cache, flat.slots, flat.starts, flat.lengths, permutation)
            for cache in (flat.keys, flat.values)
        )
        for cache in (flat.keys, flat.values):
            reorder_entries(cache, flat.slots, flat.starts, flat.lengths, permutation)
        self.permutation.flatten(0, 1)[flat.slots.long()] = permutation
        return keys, values

    def in_time(
        self, layer: int, rows: SpeechRows, heads: Sequence[int], by_entry: torch.Tensor
    ) -> torch.Tensor:
        """Undo the order: by_entry (rows, heads, entries of the slot), `heads` their KV heads."""
        permutation = rows.of(self.permutation[layer])[:, list(heads)].long()
        capacity = by_entry.shape[2]
        place = torch.arange(permutation.shape[2], device=rows.device)
        valid = (place < rows.entries[:, None])[:, None].expand_as(permutation)
        start = rows.first_entries.long()[:, None, None]
        source = (start + place).clamp(max=capacity - 1).expand_as(permutation)
        # The column beyond the slot takes what is padding.
        wide = torch.nn.functional.pad(by_entry, (0, 1))
        wide.scatter_(2, (start + permutation).where(valid, capacity), by_entry.gather(2, source))
        return wide[:, :, :capacity]
