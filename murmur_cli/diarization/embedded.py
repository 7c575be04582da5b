"""The offline local diarizer: segmentation-3.0 windows, CAM++ embeddings, constrained groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from murmur_cli.diarization.base import NO_HINTS
from murmur_cli.diarization.clean_speech import Cell, find_cells
from murmur_cli.diarization.embedding import MIN_CLEAN_S, Embedder, unit_length
from murmur_cli.diarization.frame_grid import FRAME_SAMPLES, FrameGrid, plan_windows
from murmur_cli.diarization.local_turns import Activity, runs, voice_activity
from murmur_cli.diarization.segmentation import Segmenter
from murmur_cli.diarization.unit_voices import VoiceRule, collect_units, voices_of_units
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    Embedding,
    LocalSpeaker,
    LocalTurn,
    ModelIdentity,
    Samples,
    SpeakerHints,
    TimeSpan,
)

STEP_S = 5.0
DEFAULT_RULE = VoiceRule()
_FRAME_S = FRAME_SAMPLES / SAMPLE_RATE_HZ


class EmbeddedDiarizer:
    """A `LocalDiarizer` that needs two weight files and no network."""

    def __init__(
        self,
        segmentation: Path,
        embedding: Path,
        identities: tuple[ModelIdentity, ...] = (),
        rule: VoiceRule = DEFAULT_RULE,
        step_s: float = STEP_S,
    ) -> None:
        """Load both networks.

        Args:
            segmentation: pyannote segmentation-3.0, 'pytorch_model.bin'.
            embedding: CAM++, 'campplus_cn_en_common.pt'.
            identities: what the two files are, for the run record.
            rule: how slots of windows become voices.
            step_s: distance of the windows.

        Raises:
            ModelError: a file is missing, damaged or of another network.
        """
        self._segmenter = Segmenter(segmentation)
        self._embedder = Embedder(embedding)
        self._identities = identities
        self._rule = rule
        self._step_s = step_s

    @property
    def identities(self) -> tuple[ModelIdentity, ...]:
        """The weights in use."""
        return self._identities

    def diarize(
        self, samples: Samples, chunk: Chunk, *, hints: SpeakerHints = NO_HINTS
    ) -> ChunkDiarization:
        """See `LocalDiarizer.diarize`."""
        grid = plan_windows(chunk.span, self._step_s)
        segmentation = self._segmenter.segment(samples, grid, chunk.speech)
        cells = find_cells(segmentation, round(MIN_CLEAN_S / _FRAME_S))
        vectors = self._embedder.embed(
            samples[chunk.span.start : chunk.span.end], [cell.frames for cell in cells]
        )
        units = collect_units(segmentation, cells, vectors, _FRAME_S)
        voices = voices_of_units(units, self._rule, hints)
        activity = voice_activity(segmentation, units.index, voices)
        voice_of_unit = dict(zip(units.index.tolist(), voices.tolist(), strict=True))
        return _result(chunk, grid, activity, cells, vectors, voice_of_unit)


def _result(
    chunk: Chunk,
    grid: FrameGrid,
    activity: Activity,
    cells: tuple[Cell, ...],
    vectors: list[Embedding | None],
    voice_of_unit: dict[int, int],
) -> ChunkDiarization:
    turns_of = {voice: runs(activity[:, voice]) for voice in range(activity.shape[1])}
    spoken = [voice for voice, spans in turns_of.items() if spans]
    order = {voice: n for n, voice in enumerate(sorted(spoken, key=lambda v: turns_of[v][0]))}
    turns = sorted(
        LocalTurn(TimeSpan(grid.time_s(start), grid.time_s(end)), order[voice])
        for voice in order
        for start, end in turns_of[voice]
    )
    speakers = []
    for voice, number in order.items():
        sums = None
        clean_s = 0.0
        for cell, vector in zip(cells, vectors, strict=True):
            votes = [voice_of_unit[unit] for unit in cell.units]
            if vector is None or any(vote != voice for vote in votes):
                continue
            seconds = cell.frames.size * _FRAME_S
            sums = seconds * vector + (0 if sums is None else sums)
            clean_s += seconds
        speakers.append(
            LocalSpeaker(
                chunk.index,
                number,
                clean_s,
                None if sums is None else unit_length(np.asarray(sums)),
            )
        )
    return ChunkDiarization(chunk.index, tuple(turns), tuple(speakers))
