"""Speech that is stored in an order of its own for each KV head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import PrefixSums, group_means, prefix_sums, reorder_entries


@dataclass(frozen=True, slots=True)
class LayerRows:
    """Rows in one layer, as rows of an arena with layers * slots slots.

    Attributes:
        keys, values: (layers * slots, kv_heads, capacity, head_dim), views.
        slots, starts, lengths: of each row, int32.
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

    def one_layer(self, rows: SpeechRows, layer: int) -> LayerRows:
        """The rows in one layer."""
        return LayerRows(
            keys=self._arena.keys.flatten(0, 1),
            values=self._arena.values.flatten(0, 1),
            slots=rows.slot_index + layer * self._arena.shape.slots,
            starts=rows.first_entries,
            lengths=rows.entries,
        )

    def prefix_sums(
        self, flat: LayerRows, permutation: torch.Tensor
    ) -> tuple[PrefixSums, PrefixSums]:
        """Of keys and values in this order, (rows, kv_heads, places), before they are stored so."""
        region = (flat.slots, flat.starts, flat.lengths, permutation)
        return prefix_sums(flat.keys, *region), prefix_sums(flat.values, *region)

    def store(self, flat: LayerRows, permutation: torch.Tensor) -> None:
        """Rewrite keys and values in this order."""
        for cache in (flat.keys, flat.values):
            reorder_entries(cache, flat.slots, flat.starts, flat.lengths, permutation)
        self.permutation.flatten(0, 1)[flat.slots.long()] = permutation

    def means(self, flat: LayerRows, ends: torch.Tensor, *, of_values: bool) -> torch.Tensor:
        """Means of the groups that end there, of keys or of values, as `group_means` has them."""
        cache = flat.values if of_values else flat.keys
        places = self.permutation.shape[3]
        means = group_means(cache, flat.slots, flat.starts, flat.lengths, ends, places=places)
        return means.to(cache.dtype)

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
