"""The attention of transformers' decoder-only models, over the engine's arenas.

transformers calls a registered function for the attention of every layer, with keys and values of
the new tokens only when no cache object is passed (`use_cache=False`). It hands on extra keyword
arguments of the forward call, so the pass that runs (`arena=…`) comes with the call and there is
no state in the model. No mask function is registered for the name, so no mask is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import torch

from murmur_cli.asr.speech_llm.layer_caches import LayerCaches
from murmur_cli.asr.speech_llm.row_layout import RowLayout
from murmur_cli.engine.attention import StepRanges, attend, step_ranges
from murmur_cli.engine.offloaded_step import OffloadedStep
from murmur_cli.engine.retrieval_step import RetrievalStep
from murmur_cli.engine.speech_index import Observed, SpeechRows
from murmur_cli.engine.speech_offload import HOST, SpeechOffload
from murmur_cli.engine.speech_peaks import speech_peaks

ARENA_ATTENTION = "murmur_arena"

QUERY_BLOCK = 1024
"""Queries that a sliding layer looks at together while a prompt is read: bounds its mask."""

OBSERVED_BLOCK = 64
"""Queries that an index is shown together: bounds their scores."""

ProbeHeads = dict[int, tuple[int, ...]]
"""layer -> query heads whose probabilities over the speech are wanted."""

NO_HEADS: ProbeHeads = {}


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
        self,
        caches: LayerCaches,
        row: SpeechRows,
        probes: ProbeHeads,
        indexed_suffix: int | None = None,
        watched: ProbeHeads = NO_HEADS,
    ) -> None:
        self._caches = caches
        self._row = row
        (self._slot,) = row.slots
        self._speech = (row.starts[0], row.starts[0] + row.lengths[0])
        self._probes = probes
        self._watched = watched
        self._suffix = indexed_suffix
        self.seen: list[torch.Tensor] = []
        """Probabilities of the last token over the speech, (probe heads, speech entries)."""
        self.peaks: list[torch.Tensor] = []
        """Of the watched heads of a layer at the last token, (1, heads, NUMBERS)."""

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
            self._write(layer, keys, values)
        if layer in self._probes:
            self.seen.append(self._probe(self._probes[layer], query, keys, scale))
        if layer in self._watched:
            seen = self._probe(self._watched[layer], query, keys, scale)[None]
            first = torch.zeros(1, dtype=torch.long, device=seen.device)
            self.peaks.append(speech_peaks(seen, first, first + seen.shape[2]))
        if self._suffix is not None and window is None:
            self._show(layer, self._suffix, query, keys, scale)
        return _causal(query, keys, values, scale, window).transpose(1, 2)

    def _write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Store the new entries; offloaded speech apart from those around it."""
        place = self._caches.of(layer)
        if place.offload is not None:
            start, end = self._speech
            speech = slice(start, end)
            place.offload.write(place.index, self._slot, keys[0, :, speech], values[0, :, speech])
            keys, values = (
                torch.cat((part[:, :, :start], part[:, :, end:]), dim=2) for part in (keys, values)
            )
        place.arena.write_block(place.index, [self._slot], keys, values)

    def _show(
        self, layer: int, suffix: int, query: torch.Tensor, keys: torch.Tensor, scale: float
    ) -> None:
        """Let the layer's index see the last queries, some at a time."""
        place = self._caches.of(layer)
        wanted = 0 if place.speech is None else place.speech.observed_queries(suffix)
        if not wanted or place.speech is None:
            return
        heads, tokens, _ = query.shape[1:]
        group = heads // keys.shape[1]
        wide = keys[0].float().repeat_interleave(group, dim=0)
        at = torch.arange(tokens, device=query.device)
        offload = place.offload
        row = replace(self._row, device=query.device)
        row = row if offload is None else offload.host_rows(row)
        shift = self._row.starts[0] - row.starts[0]
        for start in range(max(0, tokens - wanted), tokens, OBSERVED_BLOCK):
            part = query[0, :, start : start + OBSERVED_BLOCK].float()
            position = at[start : start + OBSERVED_BLOCK]
            scores = (part @ wide.mT * scale).masked_fill(at > position[:, None], -torch.inf)
            observed = Observed(
                part.transpose(0, 1)[None].to(row.device),
                scores.logsumexp(dim=2).mT[None].contiguous().to(row.device),
                scale,
                (position + 1 - shift).clamp(min=0).to(row.device, torch.int32)[None],
            )
            place.speech.look(place.index, row, observed)

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
        watched: ProbeHeads = NO_HEADS,
    ) -> None:
        self._caches = caches
        self._layouts = layouts
        self._slots = slots
        self._places = places
        self._probes = probes
        self._watched = watched
        self._steps: dict[int | None, StepRanges] = {}
        self._retrievals: dict[torch.device, RetrievalStep] = {}
        self._offloaded: dict[int, OffloadedStep] = {}
        self._spans: dict[torch.device, tuple[torch.Tensor, torch.Tensor]] = {}
        self.seen: list[torch.Tensor] = []
        """Probabilities over the slot, (rows, probe heads of a layer, capacity)."""
        self.peaks: list[torch.Tensor] = []
        """Of the watched heads of a layer, (rows, heads, NUMBERS)."""

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
            # Layers of a model that is larger than one device lie on several.
            slots, places = self._slots.to(keys.device), self._places.to(keys.device)
            if place.offload is not None:
                places = places - self._held.to(keys.device)
            place.arena.write_entries(place.index, slots, places, keys[:, :, 0], values[:, :, 0])
        of_token = query[:, :, 0].contiguous()
        probes, watched = self._probes.get(layer, ()), self._watched.get(layer, ())
        heads = tuple(dict.fromkeys((*probes, *watched)))
        device = place.arena.shape.device
        is_served = window is None and place.offload is None
        retrieval = self._retrieval(device) if is_served else None
        if place.offload is not None:
            brought = self._bring(place.offload, device)
            mixed, seen = brought.attend(
                place.index, of_token, place.keys, place.values, scale, heads
            )
        elif retrieval is not None and place.speech is not None:
            mixed, seen = retrieval.attend(
                place.speech, place.index, of_token, place.keys, place.values, scale, heads
            )
        else:
            mixed, seen = attend(
                of_token, place.keys, place.values, self._step(window), scale, heads
            )
        if probes and seen is not None:
            self.seen.append(seen[:, [heads.index(head) for head in probes]])
        if watched and seen is not None:
            of_watched = seen[:, [heads.index(head) for head in watched]] if probes else seen
            self.peaks.append(speech_peaks(of_watched, *self._span(seen.device)))
        return mixed[:, None]

    def _span(self, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
        """First entry of each row's speech, and the one after its last."""
        if device not in self._spans:
            edges = torch.tensor(
                [
                    (layout.speech_start, layout.speech_start + layout.row.speech_entries)
                    for layout in self._layouts
                ],
                device=device,
            )
            self._spans[device] = (edges[:, 0], edges[:, 1])
        return self._spans[device]

    def speech_read(self) -> tuple[float | None, ...] | None:
        """Entries that each row read of its speech where an index chose; None: nowhere."""
        steps = [step.speech_read() for step in self._retrievals.values()]
        for step in self._offloaded.values():
            # Arenas have unlike numbers of layers.
            steps += [step.speech_read()] * step.layers
        if not steps:
            return None
        return tuple(
            None if reads[0] is None else sum(read or 0.0 for read in reads) / len(reads)
            for reads in zip(*steps, strict=True)
        )

    @property
    def _served(self) -> list[int]:
        """Numbers of the rows that an index serves."""
        return [
            number
            for number, layout in enumerate(self._layouts)
            if layout.row.selection.speech is None
        ]

    @cached_property
    def _held(self) -> torch.Tensor:
        """Speech entries that a slot of an offloaded arena does not hold."""
        entries = [layout.row.speech_entries for layout in self._layouts]
        return torch.tensor(entries, device=self._places.device)

    def _bring(self, offload: SpeechOffload, device: torch.device) -> OffloadedStep:
        """The step of one arena whose speech is offloaded."""
        if id(offload) not in self._offloaded:
            self._offloaded[id(offload)] = OffloadedStep(
                offload,
                self._speech_rows(self._layouts, HOST),
                [layout.without_speech.reads(None) for layout in self._layouts],
                [layout.around_speech for layout in self._layouts],
                self._served,
                device,
                self._caches.capacity,
            )
        return self._offloaded[id(offload)]

    def _speech_rows(self, layouts: Sequence[RowLayout], device: torch.device) -> SpeechRows:
        return SpeechRows(
            slots=tuple(layout.row.slot for layout in layouts),
            starts=tuple(layout.speech_start for layout in layouts),
            lengths=tuple(layout.row.speech_entries for layout in layouts),
            steps=tuple(layout.row.output_entries for layout in layouts),
            device=device,
        )

    def _retrieval(self, device: torch.device) -> RetrievalStep | None:
        """The choices of the rows that an index serves; None without such rows."""
        served = self._served
        if served and device not in self._retrievals:
            self._retrievals[device] = RetrievalStep(
                [layout.row.slot for layout in self._layouts],
                [layout.reads(None) for layout in self._layouts],
                served,
                self._speech_rows([self._layouts[number] for number in served], device),
            )
        return self._retrievals.get(device)

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
