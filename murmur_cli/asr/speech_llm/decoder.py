"""A decoder-only model over the engine's arena: prompt, speech, suffix and output in one cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from murmur_cli.asr.speech_llm.arena_attention import (
    ARENA_ATTENTION,
    ArenaPass,
    ProbeHeads,
    PromptPass,
    StepPass,
    register_arena_attention,
)
from murmur_cli.asr.speech_llm.device_step import DeviceSteps
from murmur_cli.asr.speech_llm.family import SpeechLlm
from murmur_cli.asr.speech_llm.head_watch import HeadWatch
from murmur_cli.asr.speech_llm.layer_caches import (
    LayerCaches,
    bytes_per_entry,
    bytes_read_per_entry,
    indexes_bytes,
    offloads_bytes,
)
from murmur_cli.asr.speech_llm.resampled import resampled
from murmur_cli.asr.speech_llm.row_layout import RowLayout
from murmur_cli.asr.speech_llm.speech_groups import TokenAnchor, group_speech
from murmur_cli.engine.memory_plan import free_memory_bytes
from murmur_cli.engine.model_adapter import EntryBytes, PrefillOutput, StepOutput, StepRow
from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.speech_index import SpeechRows
from murmur_cli.engine.speech_offload import OffloadBytes, Traffic, offload_note
from murmur_cli.engine.speech_peaks import Heads, StepPeaks
from murmur_cli.timebase import SAMPLE_RATE_HZ, to_seconds
from murmur_cli.types import Samples, SampleSource, SampleSpan

STEPS_AHEAD = 8
"""On CUDA. A row that ends computes half of them for nothing, of some thousand; the host looks
at tokens once in so many steps."""

SPEECH = -1
"""Stands for a speech entry where ids of a prompt are listed."""


@dataclass(frozen=True, slots=True)
class SpeechSource:
    """Audio of one request, cut from the recording only when its slot is free.

    anchors: texts of stretches of it, by which its entries are grouped.
    """

    samples: SampleSource
    pieces: tuple[SampleSpan, ...]
    anchors: tuple[TokenAnchor, ...] = ()

    @property
    def audio(self) -> Samples:
        """The pieces, joined."""
        return np.concatenate([self.samples[piece.start : piece.end] for piece in self.pieces])


@dataclass(frozen=True, slots=True)
class PreparedSpeech:
    """Features as the audio encoder takes them, of so many samples at 16 kHz."""

    features: dict[str, torch.Tensor]
    samples: int
    anchors: tuple[TokenAnchor, ...] = ()


class SpeechLlmDecoder:
    """The engine's DecoderAdapter for a SpeechLlm.

    A slot holds a whole row: prompt, speech, suffix, output. Keys are rotated by their true
    positions when they are written, so leaving entries out moves nothing.

    Args:
        family: the loaded model; its text model is switched to the engine's attention.
        max_audio_s: longest audio of one request; the arena is planned for it.
        steps_ahead: greedy steps that run without the host between them; None chooses by the
            device. On a CPU they would compute rows that nobody has asked for.
        offloads: under a policy with an index, speech lies in host memory.
        watch: whether it is recorded where heads look that follow the audio, for times of words;
            None: only where no steps run ahead, whose graphs it would make larger.
    """

    def __init__(
        self,
        family: SpeechLlm,
        max_audio_s: float,
        *,
        steps_ahead: int | None = None,
        watch: bool | None = False,
        offloads: bool = False,
    ) -> None:
        register_arena_attention()
        family.text_model.set_attn_implementation(ARENA_ATTENTION)
        self._family = family
        self._layers = family.layers
        weight = family.model.get_input_embeddings().weight
        self._dtype: torch.dtype = weight.dtype
        self._device: torch.device = weight.device
        self._probes = _by_layer(family.probe_heads)
        rate = family.traits.sample_rate_hz
        self._max_speech = family.speech_entries(round(max_audio_s * rate) + 1)
        self._bound: OutputBound | None = None
        self._retrieval: RetrievalRule | None = None
        self._caches: LayerCaches | None = None
        self._speech: dict[int, torch.Tensor] = {}
        by_device = STEPS_AHEAD if self._device.type == "cuda" else 1
        self._steps_ahead = by_device if steps_ahead is None else steps_ahead
        self._offloads = offloads
        self._greedy: DeviceSteps | None = None
        self._watch: HeadWatch | None = None
        if watch or (watch is None and self._steps_ahead == 1):
            heads = int(family.text_config.num_attention_heads)
            self._watch = HeadWatch(family.probe_heads, family.layers, heads)

    @property
    def end_tokens(self) -> frozenset[int]:
        """The family's."""
        return self._family.end_tokens

    @property
    def precision(self) -> str:
        """Number format of the arithmetic, such as 'bfloat16'."""
        return str(self._dtype).removeprefix("torch.")

    @property
    def entry_bytes(self) -> EntryBytes:
        """Bytes that a step reads for one entry, over all layers."""
        size = bytes_read_per_entry(self._layers, self._dtype)
        return EntryBytes(size, size)

    @property
    def bytes_per_token(self) -> int:
        """Bytes of keys and values that one token keeps, over all layers."""
        return bytes_per_entry(self._layers, self._dtype)

    @property
    def max_entries(self) -> int:
        """Positions that are left beside the longest speech."""
        return max(0, self._family.max_positions - self._max_speech)

    @property
    def max_speech_entries(self) -> int:
        """Entries of the longest speech that fits into a slot."""
        return self._max_speech

    # --- memory -----------------------------------------------------------------------------

    def planned_bytes(
        self, slots: int, own_entries: int, retrieval: RetrievalRule | None = None
    ) -> int:
        """Bytes of all arenas, of the speech embeddings kept until a row is done, of indexes; of
        offloaded speech what is on the device."""
        entries = self._max_speech + own_entries
        kept = self._max_speech * self._width * self._dtype.itemsize
        arenas = slots * (entries * bytes_per_entry(self._layers, self._dtype) + kept)
        if retrieval is None:
            return arenas
        if self._offloads:
            speech = offloads_bytes(self._layers, slots, self._dtype, retrieval, self._max_speech)
            away = slots * self._max_speech * self._indexed_entry_bytes
            # Without a device of their own the arenas lie in host memory, too.
            host = speech.host if self._device.type == "cpu" else 0
            return arenas - away + speech.device + host
        return arenas + indexes_bytes(
            self._layers, slots, entries, self._dtype, retrieval, self._max_speech
        )

    @property
    def prepared_bytes(self) -> int:
        """Bytes of the features of the longest audio: no more than its samples, four times."""
        seconds = self._max_speech / self._family.traits.speech_tokens_per_s
        return round(16 * seconds * self._family.traits.sample_rate_hz)

    def free_bytes(self) -> int | None:
        """Bytes that are free on the device of the arenas."""
        return free_memory_bytes(self._device)

    def open(
        self,
        slots: int,
        own_entries: int,
        bound: OutputBound | None,
        retrieval: RetrievalRule | None = None,
    ) -> None:
        """Allocate the arenas, and the indexes of a retrieval rule."""
        self._bound = bound
        self._retrieval = retrieval
        self._caches = LayerCaches(
            self._layers,
            slots,
            self._max_speech + own_entries,
            self._dtype,
            self._family.layer_devices,
            retrieval,
            self._max_speech,
            offloads=self._offloads,
        )
        # Attention that is to be recorded is looked at by the host after each step.
        on_one_device = set(self._family.layer_devices) == {self._device}
        if self._steps_ahead > 1 and not self._probes and on_one_device:
            self._greedy = DeviceSteps(
                *(self._family, self._caches, self._device, bound, self._steps_ahead),
                watch=self._watch,
            )

    @property
    def offload_bytes(self) -> OffloadBytes:
        """Of the speech on the device and on the host, while it is offloaded."""
        offloads = () if self._caches is None else self._caches.offloads
        return sum((offload.bytes for offload in offloads), start=OffloadBytes(0, 0))

    @property
    def offload_note(self) -> tuple[str, ...]:
        """What offloading came to so far, in a line, if there is any."""
        return offload_note(self.offload_bytes, self.offload_traffic)

    @property
    def offload_traffic(self) -> Traffic:
        """Of the speech so far, while it is offloaded."""
        offloads = () if self._caches is None else self._caches.offloads
        return sum((offload.traffic for offload in offloads), start=Traffic())

    @property
    def _indexed_entry_bytes(self) -> int:
        """Bytes of one entry over all layers whose speech an index chooses from."""
        return bytes_per_entry([kind for kind in self._layers if not kind.slides], self._dtype)

    @property
    def greedy_steps(self) -> DeviceSteps | None:
        """Steps without the host, where they pay."""
        return self._greedy

    def close(self) -> None:
        """Let the arenas go."""
        self._caches = None
        self._greedy = None
        self._speech = {}

    # --- rows -------------------------------------------------------------------------------

    def prepare(self, source: SpeechSource) -> PreparedSpeech:
        """Audio at the family's rate, and the inputs of its encoder."""
        rate, heard = self._family.traits.sample_rate_hz, source.audio
        audio = resampled(heard, SAMPLE_RATE_HZ, rate)
        features = self._family.features(torch.from_numpy(audio))
        return PreparedSpeech(features, len(heard), source.anchors)

    @torch.inference_mode()
    def load(self, slots: Sequence[int], sources: Sequence[PreparedSpeech]) -> tuple[int, ...]:
        """Encode the speech of slots; its entries are written by `prefill`."""
        for slot, source in zip(slots, sources, strict=True):
            encoded = self._family.encode(source.features)
            assert encoded.shape[0] <= self._max_speech, (encoded.shape, self._max_speech)
            encoded = encoded.to(self._device, self._dtype)
            if source.anchors:
                seconds = to_seconds(source.samples)
                groups = group_speech(len(encoded), source.samples, seconds, source.anchors)
                encoded = groups.joined(encoded, self._family.embed)
            self._speech[slot] = encoded
        return tuple(self._speech[slot].shape[0] for slot in slots)

    @torch.inference_mode()
    def prefill(
        self,
        slots: Sequence[int],
        prompts: Sequence[tuple[int, ...]],
        suffixes: Sequence[tuple[int, ...]],
    ) -> PrefillOutput:
        """Read prompt, speech and suffix, one row after the other: each fills the processor."""
        logits, seen, peaks = [], [], []
        watched = _by_layer(self._watched)
        for slot, prompt, suffix in zip(slots, prompts, suffixes, strict=True):
            entries = self._speech[slot].shape[0]
            ids = torch.tensor(
                [*prompt, *(SPEECH,) * entries, *suffix], dtype=torch.long, device=self._device
            )
            embedded = self._family.embed(ids.clamp(min=0))
            speech = slice(len(prompt), len(prompt) + entries)
            embedded[speech] = self._speech[slot]
            rows = SpeechRows((slot,), (speech.start,), (entries,), (0,), self._device)
            served = self._is_indexed(entries)
            if served:
                self._opened.begin(rows)
            run = PromptPass(
                self._opened, rows, self._probes, len(suffix) if served else None, watched
            )
            positions = torch.arange(len(ids), device=self._device)
            hidden = self._run(run, ids[None], embedded[None], positions[None])
            logits.append(self._family.logits(hidden[:, -1]))
            if served:
                self._opened.settle(rows)
            if run.seen:
                seen.append(_padded(torch.cat(run.seen), self._max_speech))
            if run.peaks:
                peaks.append(self._peaks(run.peaks).numbers)
        begun = StepPeaks(self._watched, torch.cat(peaks)) if peaks else None
        if self._watch is not None and begun is not None:
            for number, slot in enumerate(slots):
                self._watch.begin(slot, begun.numbers[number])
        return PrefillOutput(
            torch.cat(logits), (None,) * len(slots), torch.stack(seen) if seen else None, begun
        )

    @torch.inference_mode()
    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        """One token for each row."""
        layouts = [RowLayout(row, self._bound) for row in rows]
        # All small numbers of the step in one tensor, so that a device gets one copy.
        packed = torch.tensor(
            [
                [row.token for row in rows],
                [layout.position for layout in layouts],
                [row.slot for row in rows],
                [layout.place for layout in layouts],
            ],
            device=self._device,
        )
        ids, positions, slots, places = packed.unbind(0)
        self._note_said(rows)
        watched = _by_layer(self._watched)
        run = StepPass(self._opened, layouts, slots, places, self._probes, watched)
        embedded = self._family.embed(ids)
        hidden = self._run(run, ids[:, None], embedded[:, None], positions[:, None])
        peaks = self._peaks(run.peaks) if run.peaks else None
        if self._watch is not None and peaks is not None:
            for number, row in enumerate(rows):
                self._watch.look(row.slot, peaks.numbers[number])
        return StepOutput(
            self._family.logits(hidden[:, 0]),
            self._speech_part(run.seen, layouts),
            run.speech_read(),
            peaks,
        )

    @property
    def _watched(self) -> Heads:
        """Heads that are recorded now, layer by layer."""
        return () if self._watch is None else tuple(sorted(self._watch.heads))

    def _peaks(self, of_layers: Sequence[torch.Tensor]) -> StepPeaks:
        """The layers' parts as one, on the device of the embeddings."""
        parts = [part.to(self._device) for part in of_layers]
        return StepPeaks(self._watched, torch.cat(parts, dim=1))

    def _note_said(self, rows: Sequence[StepRow]) -> None:
        """What the last step's looks led to; it may tell which heads to go on with."""
        if self._watch is not None and not self._watch.is_settled:
            for row in rows:
                self._watch.said(row.slot, is_text=self._family.is_text(row.token))
            self._watch.review()

    def _is_indexed(self, entries: int) -> bool:
        """Whether an index chooses for a row with so much speech."""
        return self._retrieval is not None and not self._retrieval.reads_all(entries)

    def _run(
        self,
        arena: ArenaPass,
        ids: torch.Tensor,
        embedded: torch.Tensor,
        positions: torch.Tensor,
    ) -> torch.Tensor:
        output = self._family.text_model(
            inputs_embeds=embedded,
            position_ids=positions,
            use_cache=False,
            arena=arena,
            **self._family.extra_inputs(ids),
        )
        hidden: torch.Tensor = output.last_hidden_state
        return hidden

    def _speech_part(
        self, seen: Sequence[torch.Tensor], layouts: Sequence[RowLayout]
    ) -> torch.Tensor | None:
        """Probabilities over the speech region, (rows, heads, most speech entries)."""
        if not seen:
            return None
        whole = torch.cat(list(seen), dim=1)
        rows = []
        for number, layout in enumerate(layouts):
            start, entries = layout.speech_start, layout.row.speech_entries
            rows.append(_padded(whole[number, :, start : start + entries], self._max_speech))
        return torch.stack(rows)

    @property
    def _opened(self) -> LayerCaches:
        assert self._caches is not None
        return self._caches

    @property
    def _width(self) -> int:
        return int(self._family.model.get_input_embeddings().weight.shape[1])


def _by_layer(heads: Heads) -> ProbeHeads:
    """The heads of each layer, in their order."""
    of_layer: ProbeHeads = {}
    for layer, head in heads:
        of_layer[layer] = (*of_layer.get(layer, ()), head)
    return of_layer


def _padded(seen: torch.Tensor, entries: int) -> torch.Tensor:
    return torch.nn.functional.pad(seen, (0, entries - seen.shape[1]))
