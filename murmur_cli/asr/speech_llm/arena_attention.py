"""The attention of transformers' decoder-only models, over the engine's arenas.

transformers calls a registered function for the attention of every layer, with keys and values of
the new tokens only when no cache object is passed (`use_cache=False`). It hands on extra keyword
arguments of the forward call, so the pass that runs (`arena=…`) comes with the call and there is
no state in the model. No mask function is registered for the name, so no mask is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from murmur_cli.asr.speech_llm.layer_caches import LayerCaches
from murmur_cli.asr.speech_llm.row_layout import RowLayout
from murmur_cli.engine.attention import StepRanges, attend, step_ranges

ARENA_ATTENTION = "murmur_arena"

QUERY_BLOCK = 1024
"""Queries that a sliding layer looks at together while a prompt is read: bounds its mask."""

ProbeHeads = dict[int, tuple[int, ...]]
"""layer -> query heads whose probabilities over the speech are wanted."""


class ArenaPass(Protocol):
    """One forward call of the model: who reads and writes what."""

    def attend(
        self,
        layer: int,
        shares: bool,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        scale: float,
        window: int | None,
    ) -> torch.Tensor:
        """Mix (batch, tokens, heads, head_dim) for query (batch, heads, tokens, head_dim).

        keys, values: (batch, kv_heads, tokens, head_dim) of the new tokens. shares: they are
        another layer's, whose entries are written already.
        """


def register_arena_attention() -> None:
    """Make the name known to transformers; again has no effect."""
    from transformers import AttentionInterface

    AttentionInterface.register(ARENA_ATTENTION, arena_attention)


def arena_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    arena: ArenaPass,
    scaling: float | None = None,
    sliding_window: int | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """What transformers calls for each layer (signature: its attention interface)."""
    scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
    shares = bool(getattr(module, "is_kv_shared_layer", False))
    mixed = arena.attend(module.layer_idx, shares, query, key, value, scale, sliding_window)
    return mixed, None


class PromptPass:
    """Reads the whole prompt of one row: each token attends to itself and those before."""

    def __init__(
        self, caches: LayerCaches, slot: int, speech: tuple[int, int], probes: ProbeHeads
    ) -> None:
        self._caches = caches
        self._slot = slot
        self._speech = speech
        self._probes = probes
        self.seen: list[torch.Tensor] = []
        """Probabilities of the last token over the speech, (probe heads, speech entries)."""

    def attend(
        self,
        layer: int,
        shares: bool,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        scale: float,
        window: int | None,
    ) -> torch.Tensor:
        """Causal attention over the new tokens alone."""
        if not shares:
            self._caches.of(layer).arena.write_block(
                self._caches.of(layer).index, [self._slot], keys, values
            )
        if layer in self._probes:
            self.seen.append(self._probe(self._probes[layer], query, keys, scale))
        return _causal(query, keys, values, scale, window).transpose(1, 2)

    def _probe(
        self, heads: Sequence[int], query: torch.Tensor, keys: torch.Tensor, scale: float
    ) -> torch.Tensor:
        group = query.shape[1] // keys.shape[1]
        of_head = keys[0, [head // group for head in heads]].float()
        last = query[0, list(heads), -1].float()
        probabilities = torch.softmax(scale * torch.einsum("hd,hnd->hn", last, of_head), dim=1)
        return probabilities[:, self._speech[0] : self._speech[1]]


class StepPass:
    """One token of each row, over what the row's selection lets it read."""

    def __init__(
        self,
        caches: LayerCaches,
        layouts: Sequence[RowLayout],
        slots: torch.Tensor,
        places: torch.Tensor,
        probes: ProbeHeads,
    ) -> None:
        self._caches = caches
        self._layouts = layouts
        self._slots = slots
        self._places = places
        self._probes = probes
        self._steps: dict[int | None, StepRanges] = {}
        self.seen: list[torch.Tensor] = []
        """Probabilities over the slot, (rows, probe heads of a layer, capacity)."""

    def attend(
        self,
        layer: int,
        shares: bool,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        scale: float,
        window: int | None,
    ) -> torch.Tensor:
        """Write the new entries, attend over the selected ones."""
        place = self._caches.of(layer)
        if not shares:
            place.arena.write_entries(
                place.index, self._slots, self._places, keys[:, :, 0], values[:, :, 0]
            )
        mixed, seen = attend(
            query[:, :, 0].contiguous(),
            place.keys,
            place.values,
            self._step(window),
            scale,
            self._probes.get(layer, ()),
        )
        if seen is not None:
            self.seen.append(seen)
        return mixed[:, None]

    def _step(self, window: int | None) -> StepRanges:
        if window not in self._steps:
            self._steps[window] = step_ranges(
                [layout.row.slot for layout in self._layouts],
                [layout.reads(window) for layout in self._layouts],
                num_slots=self._caches.slots,
                capacity=self._caches.capacity,
            )
        return self._steps[window]


def _causal(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float,
    window: int | None,
) -> torch.Tensor:
    """(batch, heads, tokens, head_dim); a token sees at most the last `window` with itself."""
    attention = torch.nn.functional.scaled_dot_product_attention
    grouped = query.shape[1] != keys.shape[1]
    tokens = query.shape[2]
    if window is None or tokens <= window:
        return attention(query, keys, values, is_causal=True, scale=scale, enable_gqa=grouped)
    blocks = []
    for start in range(0, tokens, QUERY_BLOCK):
        end = min(tokens, start + QUERY_BLOCK)
        first = max(0, start - window + 1)
        at = torch.arange(start, end, device=query.device)[:, None]
        seen = torch.arange(first, end, device=query.device)[None, :]
        blocks.append(
            attention(
                query[:, :, start:end],
                keys[:, :, first:end],
                values[:, :, first:end],
                attn_mask=(seen <= at) & (seen > at - window),
                scale=scale,
                enable_gqa=grouped,
            )
        )
    return torch.cat(blocks, dim=2)
