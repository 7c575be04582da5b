import numpy as np
import pytest

from murmur_cli.diarization.frame_grid import WINDOW_FRAMES, frames_in, plan_windows
from murmur_cli.diarization.pyannet import num_frames
from murmur_cli.types import SampleSpan


@pytest.mark.parametrize("length", [1, 270, 271, 8_000, 159_030])
def test_windows_when_chunk_fits_one_then_one(length: int) -> None:
    grid = plan_windows(SampleSpan(1000, 1000 + length), 5.0)
    assert grid.window_starts == (0,)
    assert grid.num_frames == -(-length // 270)
    assert grid.frames_of(0) == slice(0, min(grid.num_frames, WINDOW_FRAMES))


def test_windows_when_chunk_is_30_s_then_equal_steps_to_the_end() -> None:
    # 480,000 samples are 1,778 frames; 1,189 beyond the first window in 4 steps of 297.25.
    grid = plan_windows(SampleSpan(0, 480_000), 5.0)
    assert grid.num_frames == 1778
    assert grid.window_starts == (0, 297, 595, 892, 1189)
    assert grid.frames_of(4) == slice(1189, 1778)
    assert grid.coverage().min() == 1
    assert grid.coverage().max() == 2


@pytest.mark.parametrize("length_s", [10.5, 37.0, 300.0, 1234.5])
def test_windows_when_chunk_is_long_then_all_frames_covered_and_none_beyond(
    length_s: float,
) -> None:
    grid = plan_windows(SampleSpan(0, int(length_s * 16_000)), 5.0)
    assert grid.coverage().min() >= 1
    assert grid.window_starts[-1] + WINDOW_FRAMES == grid.num_frames


def test_window_start_sample_when_first_then_half_a_receptive_field_early() -> None:
    grid = plan_windows(SampleSpan(16_000, 32_000), 5.0)
    assert grid.window_start_sample(0) == 16_000 - 360


def test_num_frames_when_ten_seconds_then_589() -> None:
    assert num_frames(160_000) == WINDOW_FRAMES
    assert num_frames(990) == 0
    assert num_frames(991) == 1


def test_time_when_frame_is_last_then_end_of_chunk() -> None:
    grid = plan_windows(SampleSpan(16_000, 16_000 + 1000), 5.0)
    assert grid.num_frames == 4
    assert grid.time_s(0) == 1.0
    assert grid.time_s(2) == 1.0 + 540 / 16_000
    assert grid.time_s(4) == 17_000 / 16_000


def test_frames_with_when_span_touches_frames_then_those_frames() -> None:
    grid = plan_windows(SampleSpan(1000, 1000 + 10 * 270), 5.0)
    found = grid.frames_with((SampleSpan(0, 1001), SampleSpan(1000 + 539, 1000 + 811)))
    assert np.flatnonzero(found).tolist() == [0, 1, 2, 3]


def test_frames_in_when_seconds_then_nearest() -> None:
    assert frames_in(0.5) == 30  # 29.63
