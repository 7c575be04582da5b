"""Sliding segmentation: which of three slots talk, in overlapping windows of 10 s."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.checkpoint import load_network
from murmur_cli.diarization.frame_grid import (
    FRAME_SAMPLES,
    WINDOW_FRAMES,
    WINDOW_SAMPLES,
    FrameGrid,
)
from murmur_cli.diarization.on_cores import on_cores
from murmur_cli.diarization.powerset import (
    MAX_AT_ONCE,
    NUM_SLOTS,
    active_slots,
    fewer_probabilities,
    slot_probabilities,
)
from murmur_cli.types import Samples, SampleSource, SampleSpan

if TYPE_CHECKING:
    from torch import Tensor

    from murmur_cli.diarization.pyannet import PyanNet

MIN_BATCH_WINDOWS, MAX_BATCH_WINDOWS = 6, 16
"""Enough to fill a core; more windows cost memory and gain nothing."""

SHARED_AMONG_CORES = 4
"""The number of large batches is a multiple of it, so that 2 or 4 cores end together."""


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Slots of all windows. A slot of one window has no relation to that of another.

    Attributes:
        grid: where the windows lie.
        active: (windows, 589, 3) bool, the decoded slots; False past the chunk's end.
        probability: (windows, 589, 3) float32, probability that the slot talks.
        fewer: (windows, 589, 2) float32, probability that fewer than 1, fewer than 2 slots talk.
    """

    grid: FrameGrid
    active: npt.NDArray[np.bool_]
    probability: npt.NDArray[np.float32]
    fewer: npt.NDArray[np.float32]


class Segmenter:
    """pyannote segmentation-3.0."""

    def __init__(self, weights: Path) -> None:
        """Load the network.

        Raises:
            ModelError: the weights are missing, damaged or of another network.
        """
        from murmur_cli.diarization.lstm import LstmStack
        from murmur_cli.diarization.pyannet import PyanNet
        from murmur_cli.diarization.sinc_features import SincFeatures

        self._network: PyanNet = PyanNet()
        load_network(self._network, weights)
        self._lstm = LstmStack(self._network.lstm)
        self._sinc = SincFeatures(self._network.sincnet)

    def segment(
        self, samples: SampleSource, grid: FrameGrid, speech: tuple[SampleSpan, ...]
    ) -> Segmentation:
        """Decode the windows of a chunk. Windows without any of `speech` count as silent.

        Args:
            samples: the whole recording; what a window sees past its ends is silence.
            grid: from `plan_windows`.
            speech: speech found in the chunk.
        """
        has_speech = grid.frames_with(speech)
        shape = (len(grid.window_starts), WINDOW_FRAMES, NUM_SLOTS)
        active = np.zeros(shape, dtype=np.bool_)
        probability = np.zeros(shape, dtype=np.float32)
        fewer = np.ones((*shape[:2], MAX_AT_ONCE), dtype=np.float32)
        wanted = [w for w in range(shape[0]) if has_speech[grid.frames_of(w)].any()]
        batches = _batches(wanted)
        scores = on_cores(lambda batch: self._scores(samples, grid, batch), batches)
        for window, score in zip(wanted, (row for batch in scores for row in batch), strict=True):
            inside = grid.frames_of(window)
            length = inside.stop - inside.start
            active[window, :length] = active_slots(score[:length])
            probability[window, :length] = slot_probabilities(score[:length])
            fewer[window, :length] = fewer_probabilities(score[:length])
        return Segmentation(grid, active, probability, fewer)

    def _scores(
        self, samples: SampleSource, grid: FrameGrid, windows: list[int]
    ) -> npt.NDArray[np.float32]:
        """Log-probabilities of classes: (windows, 589, classes)."""
        import torch

        with torch.inference_mode():
            features = [
                found
                for run in _overlapping(grid, windows)
                for found in self._features(samples, grid, run)
            ]
            hidden = self._lstm(torch.stack(features))
            scores: npt.NDArray[np.float32] = self._network(hidden).numpy()
        return scores

    def _features(self, samples: SampleSource, grid: FrameGrid, run: list[int]) -> list[Tensor]:
        """Features of windows that overlap, each (589, 60)."""
        import torch

        from murmur_cli.diarization.sinc_features import EXTREMES_PER_HOP

        start = grid.window_start_sample(run[0])
        end = grid.window_start_sample(run[-1]) + WINDOW_SAMPLES
        signal = torch.from_numpy(_signal(samples, start, end))
        extremes = self._sinc.extremes(signal)
        per_window = self._sinc.num_extremes(WINDOW_SAMPLES)
        features = []
        for window in run:
            frame = grid.window_starts[window] - grid.window_starts[run[0]]
            first, row = frame * FRAME_SAMPLES, frame * EXTREMES_PER_HOP
            features.append(
                self._sinc.features(
                    extremes[:, row : row + per_window], signal[first : first + WINDOW_SAMPLES]
                )
            )
        return features


def _batches(windows: list[int]) -> list[list[int]]:
    """The windows in shares of about equal size."""
    most = -(-len(windows) // MIN_BATCH_WINDOWS)
    balanced = SHARED_AMONG_CORES * -(-len(windows) // (SHARED_AMONG_CORES * MAX_BATCH_WINDOWS))
    count = min(most, balanced)
    bounds = [len(windows) * number // count for number in range(count + 1)] if count else []
    return [windows[start:end] for start, end in pairwise(bounds)]


def _overlapping(grid: FrameGrid, windows: list[int]) -> list[list[int]]:
    """The windows in runs in which each overlaps the next."""
    runs: list[list[int]] = []
    for window in windows:
        start = grid.window_starts[window]
        if runs and start - grid.window_starts[runs[-1][-1]] < WINDOW_FRAMES:
            runs[-1].append(window)
        else:
            runs.append([window])
    return runs


def _signal(samples: SampleSource, start: int, end: int) -> Samples:
    """The recording from `start` to `end`, with zeros where it has nothing."""
    signal = np.zeros(end - start, dtype=np.float32)
    first = max(0, start)
    piece = samples[first : max(first, end)]
    signal[first - start : first - start + len(piece)] = piece
    return signal
