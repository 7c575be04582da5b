"""Stretches where one slot talks alone, shared between the windows that agree on them.

A *unit* is one slot of one window: index window * 3 + slot. A *cell* is the set of frames
that all windows over them give to one slot each; so every frame of clean speech is embedded
once, and a cell's embedding counts for each of its units.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.powerset import NUM_SLOTS
from murmur_cli.diarization.segmentation import Segmentation

Frames = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """Frames of the chunk, ascending, in which each of `units` talks alone in its window."""

    units: tuple[int, ...]
    frames: Frames


def find_cells(segmentation: Segmentation, min_frames: int) -> tuple[Cell, ...]:
    """Cells of at least `min_frames` frames of a chunk, in order of their first frame.

    A unit whose cells are all shorter, because the windows disagree, gets one cell of all
    frames in which its own window hears it alone, so that no voice is lost to a disagreement.
    """
    grid = segmentation.grid
    alone = segmentation.active.sum(axis=-1) == 1
    slot = segmentation.active.argmax(axis=-1)
    coverage = np.zeros(grid.num_frames, dtype=np.int64)
    agreed = np.ones(grid.num_frames, dtype=np.bool_)
    depth = _most_windows_over_a_frame(segmentation)
    units = np.full((grid.num_frames, depth), -1, dtype=np.int64)
    for window in range(len(grid.window_starts)):
        inside = grid.frames_of(window)
        length = inside.stop - inside.start
        rows = np.arange(inside.start, inside.stop)
        units[rows, coverage[inside]] = window * NUM_SLOTS + slot[window, :length]
        agreed[inside] &= alone[window, :length]
        coverage[inside] += 1
    cells = _group(np.flatnonzero(agreed & (coverage > 0)), units)
    cells = [cell for cell in cells if cell.frames.size >= min_frames]
    covered = {unit for cell in cells for unit in cell.units}
    lone = _cells_of_lone_units(segmentation, alone, covered)
    cells += [cell for cell in lone if cell.frames.size >= min_frames]
    return tuple(sorted(cells, key=lambda cell: (int(cell.frames[0]), cell.units)))


def _most_windows_over_a_frame(segmentation: Segmentation) -> int:
    grid = segmentation.grid
    coverage = np.zeros(grid.num_frames, dtype=np.int64)
    for window in range(len(grid.window_starts)):
        coverage[grid.frames_of(window)] += 1
    return int(coverage.max(initial=0))


def _group(frames: Frames, units: Frames) -> list[Cell]:
    """Frames with equal rows of `units`, together."""
    if frames.size == 0:
        return []
    keys, group = np.unique(units[frames], axis=0, return_inverse=True)
    group = group.reshape(-1)
    return [
        Cell(tuple(int(unit) for unit in key if unit >= 0), frames[group == index])
        for index, key in enumerate(keys)
    ]


def _cells_of_lone_units(
    segmentation: Segmentation, alone: npt.NDArray[np.bool_], covered: set[int]
) -> list[Cell]:
    cells = []
    for window, start in enumerate(segmentation.grid.window_starts):
        for slot in range(NUM_SLOTS):
            unit = window * NUM_SLOTS + slot
            frames = np.flatnonzero(alone[window] & segmentation.active[window, :, slot])
            if unit not in covered and frames.size:
                cells.append(Cell((unit,), frames + start))
    return cells
