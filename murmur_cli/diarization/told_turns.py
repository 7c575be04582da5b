"""Clean speech of speakers whose turns a recogniser tells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.clean_speech import MAX_PIECE_S, MIN_PIECE_S, Frames, Piece
from murmur_cli.diarization.frame_grid import FRAME_SAMPLES, FrameGrid, frames_in
from murmur_cli.diarization.runs import joined_runs
from murmur_cli.timebase import to_samples
from murmur_cli.types import LocalTurn

EDGE_S = 0.2
"""A model's times are off by tenths of a second: this much at both ends of a turn is not used."""


def clean_pieces(
    grid: FrameGrid, turns: Sequence[LocalTurn], has_speech: npt.NDArray[np.bool_]
) -> dict[int, list[Piece]]:
    """Pieces in which a speaker talks alone, by local speaker; speakers without any are there too.

    has_speech: (frames,), where the detector heard speech.
    """
    active = _active(grid, turns)
    talking = sum(
        (mask.astype(np.int64) for mask in active.values()), np.zeros(grid.num_frames, np.int64)
    )
    pieces: dict[int, list[Piece]] = {}
    for speaker, mask in active.items():
        inner = np.zeros(grid.num_frames, dtype=np.bool_)
        for start, end in _turn_frames(grid, turns, speaker, frames_in(EDGE_S)):
            inner[start:end] = True
        alone = inner & mask & (talking == 1) & has_speech
        pieces[speaker] = [Piece((speaker,), part) for part in _parts(alone)]
    return pieces


def _active(grid: FrameGrid, turns: Sequence[LocalTurn]) -> Mapping[int, npt.NDArray[np.bool_]]:
    masks: dict[int, npt.NDArray[np.bool_]] = {}
    for speaker in sorted({turn.local_speaker for turn in turns}):
        mask = np.zeros(grid.num_frames, dtype=np.bool_)
        for start, end in _turn_frames(grid, turns, speaker, 0):
            mask[start:end] = True
        masks[speaker] = mask
    return masks


def _turn_frames(
    grid: FrameGrid, turns: Sequence[LocalTurn], speaker: int, edge: int
) -> list[tuple[int, int]]:
    """First and last frame of a speaker's turns without `edge` frames at both ends."""
    frames = []
    for turn in turns:
        if turn.local_speaker != speaker:
            continue
        start = (to_samples(turn.span.start_s) - grid.span.start) // FRAME_SAMPLES + edge
        end = math.ceil((to_samples(turn.span.end_s) - grid.span.start) / FRAME_SAMPLES) - edge
        frames.append((max(0, start), min(grid.num_frames, max(0, start, end))))
    return frames


def _parts(alone: npt.NDArray[np.bool_]) -> list[Frames]:
    """Runs of frames, long ones in equal parts, those too short for an embedding left out."""
    shortest, longest = frames_in(MIN_PIECE_S), frames_in(MAX_PIECE_S)
    return [
        part
        for start, end in joined_runs(alone, 0)
        if end - start >= shortest
        for part in np.array_split(np.arange(start, end), math.ceil((end - start) / longest))
    ]
