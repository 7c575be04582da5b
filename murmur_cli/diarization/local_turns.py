"""From voices of units to turns: what the windows over a frame say together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.frame_grid import WINDOW_FRAMES
from murmur_cli.diarization.powerset import NUM_SLOTS
from murmur_cli.diarization.segmentation import Segmentation
from murmur_cli.voice_clustering import Labels

Activity = npt.NDArray[np.bool_]


def voice_activity(segmentation: Segmentation, unit: Labels, voice: Labels) -> Activity:
    """Frames in which each voice talks: (frames, voices).

    Args:
        segmentation: of the chunk.
        unit: (units,) window * 3 + slot.
        voice: (units,) voice of each unit, -1 for none.
    """
    grid = segmentation.grid
    num_voices = int(voice.max(initial=-1)) + 1
    heard = np.zeros((grid.num_frames, num_voices))
    total = np.zeros((grid.num_frames, 1))
    taper = _taper()
    for window in range(len(grid.window_starts)):
        inside = grid.frames_of(window)
        length = inside.stop - inside.start
        total[inside, 0] += taper[:length]
        of_window = np.zeros((length, num_voices))
        for row in np.flatnonzero((unit // NUM_SLOTS == window) & (voice >= 0)):
            slot = segmentation.probability[window, :length, unit[row] % NUM_SLOTS]
            of_window[:, voice[row]] = np.maximum(of_window[:, voice[row]], slot)
        heard[inside] += taper[:length, None] * of_window
    active: Activity = heard > 0.5 * np.maximum(total, 1e-12)
    return active


def _taper() -> npt.NDArray[np.float64]:
    """Weight of a window's frames: the network knows less at the edges."""
    position = (np.arange(WINDOW_FRAMES) + 0.5) / WINDOW_FRAMES
    return 0.05 + np.minimum(position, 1 - position)


def runs(active: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Half-open ranges of True in a row of booleans."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], active, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
