import pytest

from murmur_cli.timebase import round_half_up, to_milliseconds, to_samples, to_seconds


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, 1), (1.5, 2), (2.5, 3), (-0.5, 0), (-1.5, -1), (2.4999, 2), (7.0, 7)],
)
def test_round_when_half_way_then_up(value: float, expected: int) -> None:
    assert round_half_up(value) == expected


def test_to_samples_when_at_16_khz_then_16_per_millisecond() -> None:
    assert to_samples(0.001) == 16
    assert to_samples(30.0) == 480_000
    assert to_samples(1.0, 24_000) == 24_000


def test_to_samples_when_between_two_then_the_nearer() -> None:
    # A sample lasts 0.0625 ms: 0.0312 ms is just before the middle, 0.03125 ms is the middle.
    assert to_samples(0.0000312) == 0
    assert to_samples(0.00003125) == 1


def test_to_seconds_when_turned_back_then_the_same_sample() -> None:
    for sample in (0, 1, 15_999, 16_000, 16_000 * 3600 * 100 + 1):
        assert to_samples(to_seconds(sample)) == sample
    assert to_seconds(8_000) == 0.5


@pytest.mark.parametrize(
    ("seconds", "expected_ms"),
    [
        (0.0005, 1),
        (1.0005, 1001),
        (0.9995, 1000),
        (1.9995, 2000),
        (59.9996, 60_000),
        (3599.9996, 3_600_000),
        (0.00049, 0),
        (360_000.5, 360_000_500),
    ],
)
def test_to_milliseconds_when_half_way_then_up(seconds: float, expected_ms: int) -> None:
    assert to_milliseconds(seconds) == expected_ms
