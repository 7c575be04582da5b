"""The frames of a chunk, and the windows in which the segmentation network sees them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.timebase import SAMPLE_RATE_HZ, round_half_up, to_samples, to_seconds
from murmur_cli.types import SampleSpan

FRAME_SAMPLES = 270
"""Length of a frame: the hop of the segmentation network (16.875 ms)."""

FRAME_S = FRAME_SAMPLES / SAMPLE_RATE_HZ

WINDOW_SAMPLES = 160_000
"""What the network was trained on: 10 s."""

WINDOW_FRAMES = 589
"""Frames that the network returns for a window."""

LEAD_SAMPLES = 360
"""From the start of a window to its first frame: half of what the receptive field (991
samples) is longer than a frame."""


@dataclass(frozen=True, slots=True)
class FrameGrid:
    """Frames of 270 samples from the first sample of a chunk; windows start on frames.

    Attributes:
        span: the chunk.
        num_frames: frames that cover the chunk; the last may reach past its end.
        window_starts: first frame of each window, ascending.
    """

    span: SampleSpan
    num_frames: int
    window_starts: tuple[int, ...]

    def window_start_sample(self, window: int) -> int:
        """First sample of a window in the recording; negative before its start."""
        return self.span.start + self.window_starts[window] * FRAME_SAMPLES - LEAD_SAMPLES

    def frames_of(self, window: int) -> slice:
        """Frames of the chunk that a window covers; fewer than 589 in a short chunk."""
        start = self.window_starts[window]
        return slice(start, min(start + WINDOW_FRAMES, self.num_frames))

    def coverage(self) -> npt.NDArray[np.int64]:
        """Number of windows over each frame, shape (num_frames,)."""
        count = np.zeros(self.num_frames, dtype=np.int64)
        for window in range(len(self.window_starts)):
            count[self.frames_of(window)] += 1
        return count

    def time_s(self, frame: int) -> float:
        """Start of a frame in the recording, clipped to the chunk's end."""
        return to_seconds(min(self.span.start + frame * FRAME_SAMPLES, self.span.end))

    def frames_with(self, spans: tuple[SampleSpan, ...]) -> npt.NDArray[np.bool_]:
        """Frames that meet any of the spans, shape (num_frames,)."""
        meets = np.zeros(self.num_frames, dtype=np.bool_)
        for span in spans:
            first = max(0, (span.start - self.span.start) // FRAME_SAMPLES)
            meets[first : max(0, math.ceil((span.end - self.span.start) / FRAME_SAMPLES))] = True
        return meets


def frames_in(seconds: float) -> int:
    """Frames nearest to a length of time."""
    return round_half_up(seconds / FRAME_S)


def plan_windows(span: SampleSpan, step_s: float) -> FrameGrid:
    """Windows at equal steps near `step_s` that cover the chunk from its start to its end."""
    num_frames = math.ceil(span.length / FRAME_SAMPLES)
    excess = max(0, num_frames - WINDOW_FRAMES)
    step_frames = to_samples(step_s) / FRAME_SAMPLES
    num_steps = max(1, round_half_up(excess / step_frames)) if excess else 0
    starts = tuple(
        round_half_up(index * excess / num_steps) if num_steps else 0
        for index in range(num_steps + 1)
    )
    return FrameGrid(span, num_frames, starts)
