"""Whisper's decoder over the engine's arenas.

Two arenas: the speech region is the cross-attention cache, filled once by the encoder; prompt
and output share the self-attention cache. The modules are transformers' own; only the order of
calls is ours, so that keys and values go to the arena and attention reads what is selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from murmur_cli.asr.whisper.log_mel import LogMel
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.engine.arena import ArenaShape, KvArena, OutputRing
from murmur_cli.engine.attention import attend, select
from murmur_cli.engine.memory_plan import free_memory_bytes
from murmur_cli.engine.model_adapter import PrefillOutput, StepOutput, StepRow
from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.types import Samples, SampleSource, SampleSpan

ENCODER_BATCH = 4
"""Windows encoded together; more gains nothing on a CPU and costs memory."""


@dataclass(frozen=True, slots=True)
class WindowSource:
    """Audio of one window, cut from the recording only when its slot is free.

    `encoded` (entries, width) is given when the encoder has already seen this window.
    """

    samples: SampleSource
    pieces: tuple[SampleSpan, ...]
    encoded: torch.Tensor | None = None

    @property
    def audio(self) -> Samples:
        """The pieces, joined."""
        return np.concatenate([self.samples[piece.start : piece.end] for piece in self.pieces])


@dataclass(frozen=True, slots=True)
class PreparedWindow:
    """A window as `load` takes it: log-mel features, or what the encoder made of them.

    features: (mel bins, frames) float32. encoded: (entries, width). One of them is given.
    """

    features: torch.Tensor | None = None
    encoded: torch.Tensor | None = None


class WhisperDecoder:
    """The engine's DecoderAdapter for transformers' WhisperForConditionalGeneration.

    `encodes_ahead` lets `prepare` run the encoder too; None does so where the encoder has a
    processor of its own (CUDA). On a CPU it would compete with the decoder for the same cores.
    """

    def __init__(
        self, model: Any, tokens: WhisperTokens, *, encodes_ahead: bool | None = None
    ) -> None:
        self._model = model
        self._config = model.config
        self._tokens = tokens
        self._encoder = model.model.encoder
        self._decoder = model.model.decoder
        self._layers = list(self._decoder.layers)
        self._heads: int = self._config.decoder_attention_heads
        self._head_dim: int = int(self._config.d_model) // self._heads
        self._dtype: torch.dtype = self._decoder.layer_norm.weight.dtype
        self._device: torch.device = self._decoder.layer_norm.weight.device
        self._log_mel = LogMel(
            self._config.num_mel_bins, self._config.max_source_positions * 2 * 160
        )
        self._probes: list[tuple[int, ...]] = [
            tuple(head for probe_layer, head in tokens.alignment_heads if probe_layer == layer)
            for layer in range(len(self._layers))
        ]
        self._encodes_ahead = (
            self._device.type == "cuda" if encodes_ahead is None else encodes_ahead
        )
        self._bound: OutputBound | None = None
        self._cross: KvArena | None = None
        self._self: KvArena | None = None

    @property
    def end_token(self) -> int:
        """<|endoftext|>."""
        return self._tokens.end

    @property
    def precision(self) -> str:
        """Number format of the arithmetic, such as 'float32'."""
        return str(self._dtype).removeprefix("torch.")

    @property
    def bytes_per_entry(self) -> int:
        """Bytes of key and value of one entry over all layers and heads."""
        return 2 * len(self._layers) * self._heads * self._head_dim * self._dtype.itemsize

    @property
    def max_entries(self) -> int:
        """Positions of the decoder."""
        return int(self._config.max_target_positions)

    @property
    def speech_entries(self) -> int:
        """Entries of the speech region: the encoder always sees 30 s."""
        return int(self._config.max_source_positions)

    def planned_bytes(self, slots: int, own_entries: int) -> int:
        """Bytes of both arenas."""
        return slots * (self.speech_entries + own_entries) * self.bytes_per_entry

    @property
    def prepared_bytes(self) -> int:
        """Bytes of what `prepare` makes of one window: encoder states, or features."""
        if self._encodes_ahead:
            return self.speech_entries * int(self._config.d_model) * self._dtype.itemsize
        return 2 * self.speech_entries * int(self._config.num_mel_bins) * 4

    def free_bytes(self) -> int | None:
        """Bytes that are free where the arenas lie; None if the system does not say."""
        return free_memory_bytes(self._device)

    def open(self, slots: int, own_entries: int, bound: OutputBound | None) -> None:
        """Allocate both arenas."""
        self._bound = bound
        self._cross = self._arena(slots, self.speech_entries)
        self._self = self._arena(slots, own_entries)

    def close(self) -> None:
        """Let the arenas go."""
        self._cross = self._self = None
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arenas that `open` allocated."""
        arenas = (self._cross, self._self)
        return sum(arena.shape.total_bytes for arena in arenas if arena is not None)

    def _arena(self, slots: int, capacity: int) -> KvArena:
        return KvArena(
            ArenaShape(
                len(self._layers),
                slots,
                self._heads,
                capacity,
                self._head_dim,
                self._dtype,
                self._device,
            )
        )

    # --- speech -----------------------------------------------------------------------------

    @torch.inference_mode()
    def encode(self, audio: Sequence[Samples]) -> torch.Tensor:
        """Encoder states of windows, (windows, entries, width)."""
        return self._states([self._log_mel(samples) for samples in audio])

    def _states(self, features: Sequence[torch.Tensor]) -> torch.Tensor:
        states = [
            self._encoder(part.to(self._device, self._dtype)).last_hidden_state
            for part in torch.split(torch.stack(list(features)), ENCODER_BATCH)
        ]
        return torch.cat(states)

    @torch.inference_mode()
    def prepare(self, source: WindowSource) -> PreparedWindow:
        """Cut the audio and compute what `load` needs of it; may run in another thread."""
        if source.encoded is not None:
            return PreparedWindow(encoded=source.encoded)
        features = self._log_mel(source.audio)
        if not self._encodes_ahead:
            return PreparedWindow(features=features)
        return PreparedWindow(encoded=self._states([features])[0])

    def load(self, slots: Sequence[int], sources: Sequence[PreparedWindow]) -> tuple[int, ...]:
        """Encode windows where that is left to do, store their keys and values, a few at a time."""
        assert self._cross is not None
        for first in range(0, len(slots), ENCODER_BATCH):
            part = sources[first : first + ENCODER_BATCH]
            fresh = [window.features for window in part if window.features is not None]
            encoded = iter(self._states(fresh) if fresh else ())
            states = torch.stack(
                [window.encoded if window.encoded is not None else next(encoded) for window in part]
            )
            for layer, module in enumerate(self._layers):
                attention = module.encoder_attn
                self._cross.write_block(
                    layer,
                    list(slots[first : first + ENCODER_BATCH]),
                    self._split_heads(attention.k_proj(states)),
                    self._split_heads(attention.v_proj(states)),
                )
        return (self.speech_entries,) * len(slots)

    def _split_heads(self, states: torch.Tensor) -> torch.Tensor:
        """(rows, tokens, width) -> (rows, heads, tokens, head_dim)."""
        return states.view(*states.shape[:2], self._heads, self._head_dim).transpose(1, 2)

    # --- prompt -----------------------------------------------------------------------------

    def prefill(self, slots: Sequence[int], prompts: Sequence[tuple[int, ...]]) -> PrefillOutput:
        """Run prompts of equal length; their entries are the first of each slot."""
        assert self._cross is not None
        assert self._self is not None
        ids = torch.tensor(prompts, dtype=torch.long, device=self._device)
        hidden = self._embed(ids, torch.arange(ids.shape[1], device=self._device).expand_as(ids))
        probes: list[torch.Tensor] = []
        for layer, module in enumerate(self._layers):
            attention = module.self_attn
            states = module.self_attn_layer_norm(hidden)
            query = self._split_heads(attention.q_proj(states) * attention.scaling)
            keys = self._split_heads(attention.k_proj(states))
            values = self._split_heads(attention.v_proj(states))
            self._self.write_block(layer, list(slots), keys, values)
            mixed = functional.scaled_dot_product_attention(
                query, keys, values, is_causal=True, scale=1.0
            )
            hidden = hidden + attention.out_proj(mixed.transpose(1, 2).flatten(2))
            attention = module.encoder_attn
            states = module.encoder_attn_layer_norm(hidden)
            query = self._split_heads(attention.q_proj(states) * attention.scaling)
            mixed = torch.cat(
                [
                    functional.scaled_dot_product_attention(
                        query[row : row + 1],
                        self._cross.keys[layer, slot : slot + 1],
                        self._cross.values[layer, slot : slot + 1],
                        scale=1.0,
                    )
                    for row, slot in enumerate(slots)
                ]
            )
            if self._probes[layer]:
                heads = list(self._probes[layer])
                last = query[:, heads, -1:].float()
                keys = self._cross.keys[layer, list(slots)][:, heads].float()
                probes.append(torch.softmax(last @ keys.transpose(2, 3), dim=3)[:, :, 0])
            hidden = hidden + attention.out_proj(mixed.transpose(1, 2).flatten(2))
            hidden = hidden + self._feed_forward(module, hidden)
        hidden = self._decoder.layer_norm(hidden)
        first = torch.softmax(self._model.proj_out(hidden[:, 0]).float(), dim=1)
        return PrefillOutput(
            self._model.proj_out(hidden[:, -1]).float(),
            tuple(first[:, self._tokens.no_speech].tolist()),
            torch.cat(probes, dim=1) if probes else None,
        )

    @torch.inference_mode()
    def language_logits(self, encoded: torch.Tensor) -> torch.Tensor:
        """Logits (windows, vocabulary) after <|startoftranscript|>, from encoder states."""
        start = torch.full(
            (encoded.shape[0], 1), self._tokens.start, dtype=torch.long, device=self._device
        )
        output = self._decoder(input_ids=start, encoder_hidden_states=encoded, use_cache=False)
        logits: torch.Tensor = self._model.proj_out(output.last_hidden_state[:, 0]).float()
        return logits

    # --- one step ---------------------------------------------------------------------------

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        """One token for each row."""
        assert self._cross is not None
        assert self._self is not None
        slots = [row.slot for row in rows]
        rings = [self._ring(row.prompt_entries) for row in rows]
        places = torch.tensor(
            [ring.place(row.output_entries - 1) for ring, row in zip(rings, rows, strict=True)],
            device=self._device,
        )
        own = select(
            self._self,
            slots,
            [_own_ranges(ring, row) for ring, row in zip(rings, rows, strict=True)],
        )
        speech = select(self._cross, slots, [row.selection.speech for row in rows])
        slot_index = torch.tensor(slots, device=self._device)
        ids = torch.tensor([[row.token] for row in rows], dtype=torch.long, device=self._device)
        positions = torch.tensor(
            [[row.prompt_entries + row.output_entries - 1] for row in rows], device=self._device
        )
        hidden = self._embed(ids, positions)[:, 0]
        probes: list[torch.Tensor] = []
        for layer, module in enumerate(self._layers):
            attention = module.self_attn
            states = module.self_attn_layer_norm(hidden)
            keys = self._heads_of(attention.k_proj(states))
            values = self._heads_of(attention.v_proj(states))
            self._self.write_entries(layer, slot_index, places, keys, values)
            query = self._heads_of(attention.q_proj(states) * attention.scaling)
            mixed, _ = attend(query, self._self, layer, own)
            hidden = hidden + attention.out_proj(mixed.flatten(1))
            attention = module.encoder_attn
            states = module.encoder_attn_layer_norm(hidden)
            query = self._heads_of(attention.q_proj(states) * attention.scaling)
            mixed, seen = attend(query, self._cross, layer, speech, self._probes[layer])
            if seen is not None:
                probes.append(seen)
            hidden = hidden + attention.out_proj(mixed.flatten(1))
            hidden = hidden + self._feed_forward(module, hidden)
        hidden = self._decoder.layer_norm(hidden)
        return StepOutput(
            self._model.proj_out(hidden).float(), torch.cat(probes, dim=1) if probes else None
        )

    def _ring(self, prompt_entries: int) -> OutputRing:
        if self._bound is None:
            return OutputRing(prompt_entries, 0, None)
        return OutputRing(prompt_entries, self._bound.sinks, self._bound.window)

    def _heads_of(self, states: torch.Tensor) -> torch.Tensor:
        """(rows, width) -> (rows, heads, head_dim)."""
        return states.view(-1, self._heads, self._head_dim)

    def _embed(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Token and position embeddings of ids (rows, tokens)."""
        decoder = self._decoder
        embedded: torch.Tensor = decoder.embed_tokens(ids)
        places: torch.Tensor = decoder.embed_positions.weight[positions]
        return embedded + places

    @staticmethod
    def _feed_forward(module: Any, hidden: torch.Tensor) -> torch.Tensor:
        states = module.fc1(module.final_layer_norm(hidden))
        result: torch.Tensor = module.fc2(module.activation_fn(states))
        return result


def _own_ranges(ring: OutputRing, row: StepRow) -> tuple[tuple[int, int], ...]:
    """Prompt and selected output entries as ranges of the slot, ascending and merged."""
    spans = [(0, row.prompt_entries)] if row.prompt_entries else []
    for start, end in row.selection.output:
        spans.extend(ring.place_range(start, end))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(merged)
