"""Gain of quiet recordings, by hand."""

import numpy as np
import pytest

from murmur_cli.vad.detector_gain import detector_gain

RATE = 16_000


def square(level: float, seconds: float = 10.0) -> np.ndarray:
    return np.tile(np.float32([level, -level]), int(seconds * RATE) // 2)


def test_gain_when_loud_or_silent_or_empty_then_one() -> None:
    assert detector_gain(square(0.1)) == 1.0
    assert detector_gain(np.zeros(RATE, np.float32)) == 1.0
    assert detector_gain(np.zeros(0, np.float32)) == 1.0


def test_gain_when_quiet_then_brought_to_minus_25_decibels() -> None:
    assert 0.001 * detector_gain(square(0.001)) == pytest.approx(10 ** (-25 / 20), rel=1e-4)


def test_gain_when_speech_is_rare_then_limited_by_its_level() -> None:
    samples = np.zeros(100 * RATE, np.float32)
    samples[: 2 * RATE] = square(0.01, 2.0)
    assert 0.01 * detector_gain(samples) == pytest.approx(10 ** (-10 / 20), rel=1e-4)


def test_gain_when_one_bump_in_an_hour_of_quiet_then_ignored() -> None:
    samples = square(0.001, 600.0)
    samples[5 * RATE : 5 * RATE + 1_600] = 1.0
    assert detector_gain(samples) > 50
