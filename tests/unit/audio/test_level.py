"""Level against values worked out by hand."""

import numpy as np
import pytest

from murmur_cli.audio.level import bring_into_range, measure_level


def test_level_when_square_wave_of_half_scale_then_peak_and_rms_are_minus_six() -> None:
    level = measure_level(np.tile(np.float32([0.5, -0.5]), 1000))
    assert level.peak_dbfs == pytest.approx(-6.0206, abs=1e-4)
    assert level.rms_dbfs == pytest.approx(-6.0206, abs=1e-4)


def test_level_when_silent_then_none() -> None:
    level = measure_level(np.zeros(10, np.float32))
    assert level.peak_dbfs is None
    assert level.rms_dbfs is None


def test_range_when_within_then_same_array() -> None:
    samples = np.float32([0.0, 1.0, -1.0])
    ranged, warning = bring_into_range(samples)
    assert ranged is samples
    assert warning is None


def test_range_when_recording_is_beyond_then_scaled_as_a_whole() -> None:
    samples = np.float32([0.0, 6.0, -3.0, 1.5])
    ranged, warning = bring_into_range(samples)
    np.testing.assert_allclose(ranged, [0.0, 1.0, -0.5, 0.25], rtol=1e-6)
    assert warning is not None
    assert "scaled down" in warning


def test_range_when_one_stray_sample_then_clipped_and_the_rest_kept() -> None:
    samples = np.full(100_000, 0.25, np.float32)
    samples[500] = 1000.0
    ranged, warning = bring_into_range(samples)
    assert ranged[500] == 1.0
    assert ranged[501] == np.float32(0.25)
    assert warning is not None
    assert "clipped" in warning


def test_range_when_codec_overshoots_a_little_then_no_warning() -> None:
    ranged, warning = bring_into_range(np.float32([1.2, -1.1]))
    assert np.abs(ranged).max() <= 1.0
    assert warning is None
