"""Frames survive the way through samples."""

from __future__ import annotations

import numpy as np
import pytest

from nano.language import WIDTH
from nano.sound import frames_of, heard, sample_of, sounding


@pytest.mark.parametrize(
    ("frame", "sample"), [(0, 0), (1, 2133), (2, 4266), (3, 6400), (15, 32000)]
)
def test_sample_of_a_frame(frame: int, sample: int) -> None:
    assert sample_of(frame) == sample


@pytest.mark.parametrize(("samples", "frames"), [(0, 0), (1, 1), (2133, 1), (2134, 2), (6400, 3)])
def test_frames_of_samples(samples: int, frames: int) -> None:
    assert frames_of(samples) == frames


def test_heard_when_frames_sound_then_the_frames() -> None:
    frames = np.random.default_rng(0).standard_normal((7, WIDTH)).astype(np.float32)
    audio = sounding(frames)
    assert len(audio) == 14_933
    assert np.abs(audio).max() < 1.0
    np.testing.assert_allclose(heard(audio), frames, atol=1e-4)


def test_heard_when_a_frame_is_begun_then_what_is_there_of_it() -> None:
    frames = np.ones((2, WIDTH), dtype=np.float32)
    half = heard(sounding(frames)[: 2133 + 1066])
    assert half.shape == (2, WIDTH)
    np.testing.assert_allclose(half[0], 1.0, atol=1e-4)
    np.testing.assert_allclose(half[1], 0.5, atol=0.1)
