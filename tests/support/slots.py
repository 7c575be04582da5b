"""Segmentations drawn by hand: who talks in which frames of which window."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from murmur_cli.diarization.frame_grid import FRAME_SAMPLES, WINDOW_FRAMES, FrameGrid
from murmur_cli.diarization.segmentation import Segmentation
from murmur_cli.types import SampleSpan

Ranges = tuple[tuple[int, int], ...]


def drawn_segmentation(
    num_frames: int, starts: tuple[int, ...], talk: Mapping[tuple[int, int], Ranges]
) -> Segmentation:
    """`talk` maps (window, slot) to half-open ranges of frames of the chunk."""
    grid = FrameGrid(SampleSpan(0, num_frames * FRAME_SAMPLES), num_frames, starts)
    active = np.zeros((len(starts), WINDOW_FRAMES, 3), dtype=np.bool_)
    for (window, slot), ranges in talk.items():
        for first, last in ranges:
            active[window, first - starts[window] : last - starts[window], slot] = True
    talking = active.sum(axis=-1)
    fewer = np.stack([talking < 1, talking < 2], axis=-1).astype(np.float32)
    return Segmentation(grid, active, active.astype(np.float32), fewer)
