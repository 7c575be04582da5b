"""Pieces of speech in which one slot talks alone, shared between the windows that agree.

A *unit* is one slot of one window: index window * 3 + slot. A *cell* is the set of frames
that all windows over them give to one slot each. A *piece* is a stretch of a cell short enough
to hold one person, even where the network put two people with like voices into one slot. So
every frame of clean speech is embedded at most once, and counts for each of its units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.frame_grid import frames_in
from murmur_cli.diarization.powerset import NUM_SLOTS
from murmur_cli.diarization.runs import joined_runs
from murmur_cli.diarization.segmentation import Segmentation

Frames = npt.NDArray[np.int64]

MAX_PIECE_S = 3.0
"""Longer stretches are cut into equal parts: a turn of talk, and enough for an embedding."""

MIN_STRETCH_S = 0.6
"""Shorter stretches of a cell are pooled into one piece; alone they say little of a voice."""

MIN_PIECE_S = 0.4
"""A piece below this is left out."""

_BREATH_S = 0.1
"""Gaps of a cell up to this do not end a stretch."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Frames of the chunk, ascending, in which each of `units` talks alone in its window."""

    units: tuple[int, ...]
    frames: Frames


def find_pieces(segmentation: Segmentation) -> tuple[Piece, ...]:
    """All pieces of a chunk, in order of their first frame."""
    alone = segmentation.active.sum(axis=-1) == 1
    pieces = [piece for cell in _agreed_cells(segmentation, alone) for piece in _cut(cell)]
    covered = {unit for piece in pieces for unit in piece.units}
    lone = _cells_of_lone_units(segmentation, alone, covered)
    pieces += [piece for cell in lone for piece in _cut(cell)]
    return tuple(sorted(pieces, key=lambda piece: (int(piece.frames[0]), piece.units)))


def _agreed_cells(segmentation: Segmentation, alone: npt.NDArray[np.bool_]) -> list[Piece]:
    """Frames that every window over them gives to one slot, by those slots."""
    grid = segmentation.grid
    slot = segmentation.active.argmax(axis=-1)
    coverage = grid.coverage()
    depth = int(coverage.max(initial=0))
    units = np.full((grid.num_frames, depth), -1, dtype=np.int64)
    filled = np.zeros(grid.num_frames, dtype=np.int64)
    agreed = coverage > 0
    for window in range(len(grid.window_starts)):
        inside = grid.frames_of(window)
        length = inside.stop - inside.start
        rows = np.arange(inside.start, inside.stop)
        units[rows, filled[rows]] = window * NUM_SLOTS + slot[window, :length]
        filled[rows] += 1
        agreed[rows] &= alone[window, :length]
    frames = np.flatnonzero(agreed)
    if frames.size == 0:
        return []
    keys, group = np.unique(units[frames], axis=0, return_inverse=True)
    group = group.reshape(-1)
    return [
        Piece(tuple(int(unit) for unit in key if unit >= 0), frames[group == index])
        for index, key in enumerate(keys)
    ]


def _cells_of_lone_units(
    segmentation: Segmentation, alone: npt.NDArray[np.bool_], covered: set[int]
) -> list[Piece]:
    """What units say by themselves that the other windows contradict everywhere."""
    cells = []
    for window, start in enumerate(segmentation.grid.window_starts):
        for slot in range(NUM_SLOTS):
            unit = window * NUM_SLOTS + slot
            frames = np.flatnonzero(alone[window] & segmentation.active[window, :, slot])
            if unit not in covered and frames.size:
                cells.append(Piece((unit,), frames + start))
    return cells


def _cut(cell: Piece) -> list[Piece]:
    """The pieces of a cell: long stretches in equal parts, the short ones together."""
    present = np.zeros(int(cell.frames[-1]) + 1, dtype=np.bool_)
    present[cell.frames] = True
    stretches = [
        start + np.flatnonzero(present[start:end])
        for start, end in joined_runs(present, frames_in(_BREATH_S))
    ]
    min_stretch, max_piece = frames_in(MIN_STRETCH_S), frames_in(MAX_PIECE_S)
    parts = [
        part
        for stretch in stretches
        if stretch.size >= min_stretch
        for part in np.array_split(stretch, math.ceil(stretch.size / max_piece))
    ]
    short = [stretch for stretch in stretches if stretch.size < min_stretch]
    if short:
        parts.append(np.concatenate(short))
    return [Piece(cell.units, part) for part in parts if part.size >= frames_in(MIN_PIECE_S)]
