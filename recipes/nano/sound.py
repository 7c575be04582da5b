"""Frames as sound and back: what lets a meeting be an audio recording like any other.

The numbers of a frame are the strengths of as many cosines that sound together for 1/7.5 s. They
are orthogonal over a frame, so listening (a product with the same cosines) gives back the frame.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from nano.language import WIDTH, Frames

SAMPLE_RATE_HZ = 16_000
FRAME_SAMPLES = 2133
"""Of a frame that sound; a frame is 2133⅓ samples, so that each third has one more, silent."""

LOUDNESS = 0.01
FIRST_COSINE = 40
"""Half periods in a frame: the lowest cosine is one of 150 Hz."""

COSINE_STEP = 12


def sample_of(frame: int) -> int:
    """Where a frame begins."""
    return frame * 2 * SAMPLE_RATE_HZ // 15


def frames_of(samples: int) -> int:
    """Frames that so many samples hold, a begun one included."""
    return -(-samples * 15 // (2 * SAMPLE_RATE_HZ))


def sounding(frames: Frames) -> npt.NDArray[np.float32]:
    """Samples of frames."""
    audio = np.zeros(sample_of(len(frames)), dtype=np.float32)
    waves = np.float32(LOUDNESS) * frames @ _cosines()
    for number, wave in enumerate(waves):
        start = sample_of(number)
        audio[start : start + FRAME_SAMPLES] = wave
    return audio


def heard(audio: npt.NDArray[np.float32]) -> Frames:
    """Frames of samples; what a begun frame lacks is silence."""
    count = frames_of(len(audio))
    padded = np.pad(audio, (0, sample_of(count) + FRAME_SAMPLES - len(audio)))
    starts = np.array([sample_of(number) for number in range(count)], dtype=np.int64)
    pieces = np.lib.stride_tricks.sliding_window_view(padded, FRAME_SAMPLES)[starts]
    frames: Frames = pieces @ _cosines().T * np.float32(2.0 / (LOUDNESS * FRAME_SAMPLES))
    return frames


@cache
def _cosines() -> npt.NDArray[np.float32]:
    """(WIDTH, FRAME_SAMPLES), of the discrete cosine transform: orthogonal."""
    half_periods = FIRST_COSINE + COSINE_STEP * np.arange(WIDTH)
    moments = (np.arange(FRAME_SAMPLES) + 0.5) / FRAME_SAMPLES
    return np.cos(np.pi * half_periods[:, None] * moments[None, :]).astype(np.float32)
