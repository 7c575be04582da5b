"""Resampling against scipy's polyphase filter and against itself at other block sizes."""

import numpy as np
import pytest
import soxr
from scipy import signal

from murmur_cli.audio.resample import ResamplingCollector


def chirp(rate_hz: int, seconds: float = 2.0) -> np.ndarray:
    time = np.arange(int(rate_hz * seconds)) / rate_hz
    return (0.5 * signal.chirp(time, 100, seconds, 3000)).astype(np.float32)


def collect(samples: np.ndarray, rate_hz: int, block: int) -> np.ndarray:
    collector = ResamplingCollector()
    for start in range(0, len(samples), block):
        collector.add(samples[start : start + block].copy(), rate_hz)
    return collector.finish()[:]


@pytest.mark.parametrize("rate_hz", [8_000, 22_050, 44_100, 48_000, 96_000])
def test_resample_when_any_rate_then_like_scipy(rate_hz: int) -> None:
    ours = collect(chirp(rate_hz)[:, None], rate_hz, 5_000)[:, 0]
    factor = np.gcd(rate_hz, 16_000)
    theirs = signal.resample_poly(chirp(rate_hz), 16_000 // factor, rate_hz // factor)
    assert abs(len(ours) - 32_000) <= 1
    middle = slice(1_000, 31_000)
    assert np.abs(ours[middle] - theirs[middle]).max() < 0.01


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 22_050, 44_100, 48_000])
def test_resample_when_streamed_then_exactly_as_at_once(rate_hz: int) -> None:
    stereo = np.stack([chirp(rate_hz), 0.3 * chirp(rate_hz)[::-1]], axis=1)
    at_once = soxr.resample(stereo, rate_hz, 16_000, quality="HQ")
    np.testing.assert_array_equal(collect(stereo, rate_hz, 1_001), at_once)


def test_resample_when_blocks_differ_then_same_samples() -> None:
    stereo = np.stack([chirp(44_100), -chirp(44_100)], axis=1)
    np.testing.assert_array_equal(collect(stereo, 44_100, 777), collect(stereo, 44_100, 50_000))


def test_resample_when_rate_is_right_then_untouched() -> None:
    np.testing.assert_array_equal(collect(chirp(16_000)[:, None], 16_000, 999)[:, 0], chirp(16_000))


def test_resample_when_samples_are_no_numbers_then_zero_and_counted() -> None:
    collector = ResamplingCollector()
    collector.add(np.float32([[0.5], [np.nan], [np.inf], [-np.inf], [1e30], [-2.0]]), 16_000)
    np.testing.assert_array_equal(collector.finish()[:][:, 0], np.float32([0.5, 0, 0, 0, 0, -2.0]))
    assert collector.invalid_samples == 4
    assert "4 samples" in collector.warnings[0]


def test_resample_when_rate_changes_then_both_parts_there() -> None:
    collector = ResamplingCollector()
    collector.add(np.zeros((8_000, 1), np.float32), 8_000)
    collector.add(np.zeros((48_000, 1), np.float32), 48_000)
    assert len(collector.finish()) == 32_000
    assert collector.decoded_s == 2.0


def test_resample_when_nothing_then_empty() -> None:
    assert ResamplingCollector().finish().shape == (0, 1)
