"""Whisper's decoder over the engine's arenas.

Two arenas: the speech region is the cross-attention cache, filled once by the encoder; prompt
and output share the self-attention cache. The modules are transformers' own; only the order of
calls is ours, so that keys and values go to the arena and attention reads what is selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import torch

from murmur_cli.asr.whisper.encoder import WhisperEncoder
from murmur_cli.asr.whisper.encoder_arithmetic import EncoderArithmetic
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.engine.arena import ArenaShape, KvArena, OutputRing
from murmur_cli.engine.attention import StepRanges, attend, select, step_ranges
from murmur_cli.engine.indexes.registry import index_bytes, speech_index
from murmur_cli.engine.memory_plan import free_memory_bytes
from murmur_cli.engine.model_adapter import EntryBytes, PrefillOutput, StepOutput, StepRow
from murmur_cli.engine.offloaded_step import OffloadedStep
from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.regions import Range
from murmur_cli.engine.retrieval_step import RetrievalStep
from murmur_cli.engine.speech_index import Observed, SpeechIndex, SpeechRows
from murmur_cli.engine.speech_offload import (
    OffloadBytes,
    SpeechOffload,
    Traffic,
    offload_bytes,
    offload_note,
)
from murmur_cli.types import Samples, SampleSource, SampleSpan


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


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Tokens that go through the decoder together, each with what it reads and writes.

    ids, positions, slots, places: (tokens,) int64; `places` are entries of the own arena.
    prompt_of: the rows whose prompts these are, of equal length, where the index wants to see
    their queries.
    """

    ids: torch.Tensor
    positions: torch.Tensor
    slots: torch.Tensor
    places: torch.Tensor
    own: StepRanges
    speech: StepRanges | RetrievalStep | OffloadedStep
    prompt_of: SpeechRows | None = None


class WhisperDecoder:
    """The engine's DecoderAdapter for transformers' WhisperForConditionalGeneration.

    `speech_dtype` is that of the speech region's arena, by default the model's. Whisper reads
    it in every step and writes it once, so half the bytes are half the time, and the text stays
    that of float32 (measured: the same words in 1,373 of 1,373).
    `encodes_ahead` lets `prepare` run the encoder too; None does so where the encoder has a
    processor of its own (CUDA). On a CPU it would compete with the decoder for the same cores.
    `offloads` leaves the speech region in host memory under a policy with an index.
    """

    def __init__(
        self,
        model: Any,
        tokens: WhisperTokens,
        *,
        encodes_ahead: bool | None = None,
        speech_dtype: torch.dtype | None = None,
        encoder_arithmetic: EncoderArithmetic | None = None,
        offloads: bool = False,
    ) -> None:
        self._model = model
        self._config = model.config
        self._tokens = tokens
        self._decoder = model.model.decoder
        self._layers = list(self._decoder.layers)
        self._heads: int = self._config.decoder_attention_heads
        self._head_dim: int = int(self._config.d_model) // self._heads
        self._dtype: torch.dtype = self._decoder.layer_norm.weight.dtype
        self._speech_dtype = speech_dtype or self._dtype
        self._device: torch.device = self._decoder.layer_norm.weight.device
        self._encoder = WhisperEncoder(model.model.encoder, self._dtype)
        self._encoder_arithmetic = encoder_arithmetic
        self._probes: list[tuple[int, ...]] = [
            tuple(head for probe_layer, head in tokens.alignment_heads if probe_layer == layer)
            for layer in range(len(self._layers))
        ]
        self._encodes_ahead = (
            self._device.type == "cuda" if encodes_ahead is None else encodes_ahead
        )
        self._offloads = offloads
        self._offload: SpeechOffload | None = None
        self._bound: OutputBound | None = None
        self._cross: KvArena | None = None
        self._self: KvArena | None = None
        self._index: SpeechIndex | None = None
        self._retrieval: RetrievalStep | None = None

    @property
    def end_tokens(self) -> frozenset[int]:
        """<|endoftext|>."""
        return frozenset({self._tokens.end})

    @property
    def precision(self) -> str:
        """Number formats of the arithmetic, such as 'float32, float16 speech cache'."""
        formats = [_name(self._dtype)]
        if self._encoder_arithmetic not in (None, formats[0]):
            formats.append(f"{self._encoder_arithmetic} encoder")
        if self._speech_dtype != self._dtype:
            formats.append(f"{_name(self._speech_dtype)} speech cache")
        return ", ".join(formats)

    @property
    def entry_bytes(self) -> EntryBytes:
        """Bytes of key and value of one entry of each region, over all layers and heads."""
        numbers = 2 * len(self._layers) * self._heads * self._head_dim
        return EntryBytes(numbers * self._speech_dtype.itemsize, numbers * self._dtype.itemsize)

    @property
    def kv_heads(self) -> tuple[int, ...]:
        """Of each layer."""
        return (self._heads,) * len(self._layers)

    @property
    def max_entries(self) -> int:
        """Positions of the decoder."""
        return int(self._config.max_target_positions)

    @property
    def speech_entries(self) -> int:
        """Entries of the speech region: the encoder always sees 30 s."""
        return self._encoder.entries

    # --- memory -----------------------------------------------------------------------------

    @property
    def greedy_steps(self) -> None:
        """None: the rules of timestamps look at each token before the next is chosen."""
        return None

    def planned_bytes(
        self, slots: int, own_entries: int, retrieval: RetrievalRule | None = None
    ) -> int:
        """Bytes of both arenas, and of the index if there is one; on their device only."""
        entry = self.entry_bytes
        if self._offloads and self._needs_index(retrieval):
            speech = offload_bytes(retrieval, self._speech_shape(slots), self.speech_entries)
            on_device = slots * own_entries * entry.output + speech.device
            # Without a device of their own the arenas lie in host memory, too.
            return on_device + (speech.host if self._device.type == "cpu" else 0)
        arenas = slots * (self.speech_entries * entry.speech + own_entries * entry.output)
        if not self._needs_index(retrieval):
            return arenas
        return arenas + index_bytes(retrieval, self._speech_shape(slots), self.speech_entries)

    @property
    def prepared_bytes(self) -> int:
        """Bytes of what `prepare` makes of one window: encoder states, or features."""
        if self._encodes_ahead:
            return self.speech_entries * self._encoder.width * self._dtype.itemsize
        return 2 * self.speech_entries * self._encoder.mel_bins * torch.float32.itemsize

    def free_bytes(self) -> int | None:
        """Bytes that are free where the arenas lie; None if the system does not say."""
        return free_memory_bytes(self._device)

    def open(
        self,
        slots: int,
        own_entries: int,
        bound: OutputBound | None,
        retrieval: RetrievalRule | None = None,
    ) -> None:
        """Allocate both arenas, and the index of a retrieval rule."""
        self._bound = bound
        self._self = KvArena(self._arena_shape(slots, own_entries, self._dtype))
        if self._offloads and self._needs_index(retrieval):
            room = retrieval.most_read(self.speech_entries)
            self._cross = KvArena(self._arena_shape(slots, room, self._speech_dtype))
            self._offload = SpeechOffload(self._cross, retrieval, self.speech_entries)
            self._index = self._offload.index
            return
        self._cross = KvArena(self._speech_shape(slots))
        if self._needs_index(retrieval):
            self._index = speech_index(retrieval, self._cross, self.speech_entries)

    def close(self) -> None:
        """Let the arenas go."""
        self._cross = self._self = self._index = self._offload = self._retrieval = None
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _arena_shape(self, slots: int, capacity: int, dtype: torch.dtype) -> ArenaShape:
        return ArenaShape(
            len(self._layers), slots, self._heads, capacity, self._head_dim, dtype, self._device
        )

    def _speech_shape(self, slots: int) -> ArenaShape:
        return self._arena_shape(slots, self.speech_entries, self._speech_dtype)

    def _needs_index(self, retrieval: RetrievalRule | None) -> TypeGuard[RetrievalRule]:
        """Every row has the same speech entries: the budget covers all rows or none."""
        return retrieval is not None and not retrieval.reads_all(self.speech_entries)

    @property
    def offload_bytes(self) -> OffloadBytes:
        """Of the speech on the device and on the host, while it is offloaded."""
        return OffloadBytes(0, 0) if self._offload is None else self._offload.bytes

    @property
    def offload_note(self) -> tuple[str, ...]:
        """What offloading came to so far, in a line, if there is any."""
        return offload_note(self.offload_bytes, self.offload_traffic)

    @property
    def offload_traffic(self) -> Traffic:
        """Of the speech so far, while it is offloaded."""
        return Traffic() if self._offload is None else self._offload.traffic

    # --- speech -----------------------------------------------------------------------------

    @torch.inference_mode()
    def encode(self, audio: Sequence[Samples]) -> torch.Tensor:
        """Encoder states of windows, (windows, entries, width)."""
        return torch.stack([self._encoder.states(self._encoder.features(part)) for part in audio])

    @torch.inference_mode()
    def prepare(self, source: WindowSource) -> PreparedWindow:
        """Cut the audio and compute what `load` needs of it; may run in another thread."""
        if source.encoded is not None:
            return PreparedWindow(encoded=source.encoded)
        features = self._encoder.features(source.audio)
        if not self._encodes_ahead:
            return PreparedWindow(features=features)
        return PreparedWindow(encoded=self._encoder.states(features))

    def load(self, slots: Sequence[int], sources: Sequence[PreparedWindow]) -> tuple[int, ...]:
        """Encode windows where that is left to do, and store their keys and values."""
        for slot, window in zip(slots, sources, strict=True):
            states = window.encoded
            if states is None:
                assert window.features is not None
                states = self._encoder.states(window.features)
            self._store_speech(slot, states)
        if self._index is not None:
            self._index.build(self._index_rows(slots, 0))
        return (self.speech_entries,) * len(slots)

    def _speech_rows(self, slots: Sequence[int], *steps: int) -> SpeechRows:
        """Rows with their steps; one step stands for that of all of them."""
        return SpeechRows(
            slots=tuple(slots),
            starts=(0,) * len(slots),
            lengths=(self.speech_entries,) * len(slots),
            steps=steps if len(steps) == len(slots) else steps * len(slots),
            device=self._device,
        )

    def _index_rows(self, slots: Sequence[int], *steps: int) -> SpeechRows:
        """The rows as the index knows them: an offloaded one is on the host."""
        rows = self._speech_rows(slots, *steps)
        return rows if self._offload is None else self._offload.host_rows(rows)

    def _store_speech(self, slot: int, states: torch.Tensor) -> None:
        for layer, module in enumerate(self._layers):
            attention = module.encoder_attn
            keys = self._heads_of(attention.k_proj(states)).transpose(0, 1)
            values = self._heads_of(attention.v_proj(states)).transpose(0, 1)
            if self._offload is None:
                self._speech.write_block(layer, [slot], keys[None], values[None])
            else:
                self._offload.write(layer, slot, keys, values)

    # --- tokens -----------------------------------------------------------------------------

    def prefill(
        self,
        slots: Sequence[int],
        prompts: Sequence[tuple[int, ...]],
        suffixes: Sequence[tuple[int, ...]],
    ) -> PrefillOutput:
        """Run prompts of equal length; their entries are the first of each slot."""
        assert not any(suffixes), "the speech lies in another cache"
        length = len(prompts[0])
        places = torch.arange(length, device=self._device).repeat(len(slots))
        of_token = [slot for slot in slots for _ in range(length)]
        rows = self._index_rows(slots, 0)
        if self._index is not None:
            self._index.begin(rows)
        hidden, probes = self._run(
            _Tokens(
                ids=torch.tensor(prompts, dtype=torch.long, device=self._device).flatten(),
                positions=places,
                slots=torch.tensor(of_token, device=self._device),
                places=places,
                # A prompt's token reads the prompt up to itself, and all of the speech.
                own=select(
                    self._own, of_token, [((0, end + 1),) for end in range(length)] * len(slots)
                ),
                speech=self._whole_speech(of_token, length),
                prompt_of=rows,
            )
        )
        if self._index is not None:
            self._index.settle(rows)
        hidden = hidden.view(len(slots), length, -1)
        # What was said before, if anything, stands before the start of the transcript.
        start = prompts[0].index(self._tokens.start)
        assert all(prompt[start] == self._tokens.start for prompt in prompts), prompts
        first = torch.softmax(self._logits(hidden[:, start]), dim=1)
        return PrefillOutput(
            self._logits(hidden[:, -1]),
            tuple(first[:, self._tokens.no_speech].tolist()),
            None if probes is None else probes[length - 1 :: length],
        )

    def _whole_speech(self, of_token: Sequence[int], prompt: int) -> StepRanges:
        """All of the speech; an offloaded one as it is brought: the prompt of one row."""
        whole: tuple[Range, ...] = ((0, self.speech_entries),)
        if self._offload is None:
            return select(self._speech, of_token, [whole] * len(of_token))
        return step_ranges(
            [0] * prompt, [whole] * prompt, num_slots=1, capacity=self.speech_entries
        )

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        """One token for each row."""
        slots = [row.slot for row in rows]
        rings = [self._ring(row.prompt_entries) for row in rows]
        places = [ring.place(row.output_entries - 1) for ring, row in zip(rings, rows, strict=True)]
        own = [_own_ranges(ring, row) for ring, row in zip(rings, rows, strict=True)]
        # All small numbers of the step in one tensor, so that a device gets one copy.
        packed = torch.tensor(
            [
                [row.token for row in rows],
                [row.prompt_entries + row.output_entries - 1 for row in rows],
                slots,
                places,
            ],
            device=self._device,
        )
        ids, positions, slot_index, place_index = packed.unbind(0)
        speech = self._speech_choice(rows)
        hidden, probes = self._run(
            _Tokens(
                ids,
                positions,
                slot_index,
                place_index,
                own=select(self._own, slots, own),
                speech=speech,
            )
        )
        read = None if isinstance(speech, StepRanges) else speech.speech_read()
        return StepOutput(self._logits(hidden), probes, read)

    def _speech_choice(self, rows: Sequence[StepRow]) -> StepRanges | RetrievalStep | OffloadedStep:
        """What the rows read of the speech: ranges, or what the index finds for each layer."""
        slots = [row.slot for row in rows]
        ranges = [row.selection.speech for row in rows]
        known = [spans for spans in ranges if spans is not None]
        if len(known) == len(rows):
            return select(self._speech, slots, known)
        assert not known, "rows of the same speech entries are chosen for alike"
        if self._offload is not None:
            of_step = self._index_rows(slots, *(row.output_entries for row in rows))
            nothing: list[tuple[Range, ...]] = [()] * len(rows)
            return OffloadedStep(
                *(self._offload, of_step, nothing, nothing, range(len(rows)), self._device),
                capacity=self.speech_entries,
            )
        served = self._speech_rows(slots, *(row.output_entries for row in rows))
        nothing_else: list[tuple[()]] = [()] * len(rows)
        if self._retrieval is None or not self._retrieval.follow(served, nothing_else):
            self._retrieval = RetrievalStep(slots, nothing_else, range(len(rows)), served)
        return self._retrieval

    def _run(self, tokens: _Tokens) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Last hidden states (tokens, width), and the probes (tokens, heads, speech entries)."""
        hidden = self._decoder.embed_tokens(tokens.ids)
        hidden = hidden + self._decoder.embed_positions.weight[tokens.positions]
        probes: list[torch.Tensor] = []
        for layer, module in enumerate(self._layers):
            attention = module.self_attn
            states = module.self_attn_layer_norm(hidden)
            keys = self._heads_of(attention.k_proj(states))
            values = self._heads_of(attention.v_proj(states))
            self._own.write_entries(layer, tokens.slots, tokens.places, keys, values)
            query = self._heads_of(attention.q_proj(states) * attention.scaling)
            mixed, _ = attend(query, self._own.keys[layer], self._own.values[layer], tokens.own)
            hidden = hidden + attention.out_proj(mixed.flatten(1))
            attention = module.encoder_attn
            states = module.encoder_attn_layer_norm(hidden)
            query = self._heads_of(attention.q_proj(states) * attention.scaling)
            mixed, seen = self._attend_speech(layer, query, tokens)
            if seen is not None:
                probes.append(seen)
            hidden = hidden + attention.out_proj(mixed.flatten(1))
            states = module.fc1(module.final_layer_norm(hidden))
            hidden = hidden + module.fc2(module.activation_fn(states))
        return self._decoder.layer_norm(hidden), torch.cat(probes, dim=1) if probes else None

    def _attend_speech(
        self, layer: int, query: torch.Tensor, tokens: _Tokens
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        keys, values = self._speech.keys[layer], self._speech.values[layer]
        heads = self._probes[layer]
        if isinstance(tokens.speech, OffloadedStep):
            return tokens.speech.attend(layer, query, keys, values, probe_heads=heads)
        if self._offload is not None:
            return self._attend_brought(self._offload, layer, query, tokens)
        if isinstance(tokens.speech, RetrievalStep):
            assert self._index is not None
            return tokens.speech.attend(self._index, layer, query, keys, values, probe_heads=heads)
        mixed, seen = attend(query, keys, values, tokens.speech, probe_heads=heads)
        if tokens.prompt_of is not None:
            self._show_prompt(layer, query, tokens.prompt_of)
        if seen is not None and self._index is not None:
            rows = self._speech_rows(tokens.speech.slots, 0)
            seen = self._index.in_time(layer, rows, heads, seen)
        return mixed, seen

    def _attend_brought(
        self, offload: SpeechOffload, layer: int, query: torch.Tensor, tokens: _Tokens
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Prompts over speech that is brought to the device for them, row by row."""
        rows, heads = tokens.prompt_of, self._probes[layer]
        assert rows is not None
        assert isinstance(tokens.speech, StepRanges)
        mixed, seen = [], []
        for slot, of_row in zip(rows.slots, query.chunk(len(rows.slots)), strict=True):
            keys, values = offload.whole(layer, slot)
            out, probed = attend(of_row, keys, values, tokens.speech, probe_heads=heads)
            mixed.append(out)
            if probed is not None:
                own = offload.index.in_time(
                    layer,
                    self._index_rows([slot] * len(of_row), 0),
                    heads,
                    probed.cpu(),
                )
                seen.append(own.to(self._device))
        self._show_prompt(layer, query.cpu(), rows)
        return torch.cat(mixed), torch.cat(seen) if seen else None

    def _show_prompt(self, layer: int, query: torch.Tensor, rows: SpeechRows) -> None:
        """Let the index see the last prompt queries; query (rows * prompt, heads, head_dim)."""
        wanted = 0 if self._index is None else self._index.observed_queries(len(query))
        if not wanted or self._index is None:
            return
        of_row = query.view(len(rows.slots), -1, *query.shape[1:])[:, -wanted:]
        held = rows.of(self._speech.keys[layer])
        if self._offload is not None:
            held = self._offload.keys_on_host(layer, rows)
        keys = held.float()
        scores = torch.einsum("rqhd,rhnd->rqhn", of_row.float(), keys)
        self._index.look(layer, rows, Observed(of_row, scores.logsumexp(dim=3), 1.0))

    @torch.inference_mode()
    def language_logits(self, encoded: torch.Tensor) -> torch.Tensor:
        """Logits (windows, vocabulary) after <|startoftranscript|>, from encoder states."""
        start = torch.full(
            (encoded.shape[0], 1), self._tokens.start, dtype=torch.long, device=self._device
        )
        output = self._decoder(input_ids=start, encoder_hidden_states=encoded, use_cache=False)
        return self._logits(output.last_hidden_state[:, 0])

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._model.proj_out(hidden).float()
        return logits

    @property
    def _own(self) -> KvArena:
        assert self._self is not None
        return self._self

    @property
    def _speech(self) -> KvArena:
        assert self._cross is not None
        return self._cross

    def _ring(self, prompt_entries: int) -> OutputRing:
        if self._bound is None:
            return OutputRing(prompt_entries, 0, None)
        return OutputRing(prompt_entries, self._bound.sinks, self._bound.window)

    def _heads_of(self, states: torch.Tensor) -> torch.Tensor:
        """(tokens, width) -> (tokens, heads, head_dim)."""
        return states.view(-1, self._heads, self._head_dim)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


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
