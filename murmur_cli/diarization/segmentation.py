"""Sliding segmentation: which of three slots talk, in overlapping windows of 10 s."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.checkpoint import load_network
from murmur_cli.diarization.frame_grid import WINDOW_FRAMES, WINDOW_SAMPLES, FrameGrid
from murmur_cli.diarization.powerset import active_slots, slot_probabilities
from murmur_cli.types import Samples, SampleSource, SampleSpan

if TYPE_CHECKING:
    from murmur_cli.diarization.pyannet import PyanNet

BATCH_WINDOWS = 16
"""Enough to fill two cores; more windows cost memory and gain nothing."""


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Slots of all windows. A slot of one window has no relation to that of another.

    Attributes:
        grid: where the windows lie.
        active: (windows, 589, 3) bool, the decoded slots; False past the chunk's end.
        probability: (windows, 589, 3) float32, probability that the slot talks.
    """

    grid: FrameGrid
    active: npt.NDArray[np.bool_]
    probability: npt.NDArray[np.float32]


class Segmenter:
    """pyannote segmentation-3.0."""

    def __init__(self, weights: Path) -> None:
        """Load the network.

        Raises:
            ModelError: the weights are missing, damaged or of another network.
        """
        from murmur_cli.diarization.pyannet import PyanNet

        self._network: PyanNet = PyanNet()
        load_network(self._network, weights)

    def segment(
        self, samples: SampleSource, grid: FrameGrid, speech: tuple[SampleSpan, ...]
    ) -> Segmentation:
        """Decode the windows of a chunk. Windows without any of `speech` count as silent.

        Args:
            samples: the whole recording; what a window sees past its ends is silence.
            grid: from `plan_windows`.
            speech: speech found in the chunk.
        """
        import torch

        has_speech = grid.frames_with(speech)
        shape = (len(grid.window_starts), WINDOW_FRAMES, 3)
        active = np.zeros(shape, dtype=np.bool_)
        probability = np.zeros(shape, dtype=np.float32)
        wanted = [w for w in range(shape[0]) if has_speech[grid.frames_of(w)].any()]
        for first in range(0, len(wanted), BATCH_WINDOWS):
            batch = wanted[first : first + BATCH_WINDOWS]
            audio = np.stack([_window(samples, grid.window_start_sample(w)) for w in batch])
            with torch.inference_mode():
                scores = self._network(torch.from_numpy(audio).unsqueeze(1)).numpy()
            for window, score in zip(batch, scores, strict=True):
                inside = grid.frames_of(window)
                length = inside.stop - inside.start
                active[window, :length] = active_slots(score[:length])
                probability[window, :length] = slot_probabilities(score[:length])
        return Segmentation(grid, active, probability)


def _window(samples: SampleSource, start: int) -> Samples:
    """10 s from `start`, with zeros where the recording has nothing."""
    window = np.zeros(WINDOW_SAMPLES, dtype=np.float32)
    first = max(0, start)
    piece = samples[first : max(first, start + WINDOW_SAMPLES)]
    window[first - start : first - start + len(piece)] = piece
    return window
