import pytest

from murmur_cli.types import TimeSpan
from murmur_cli.writers.clock import clock, decimal_seconds, span_ms


@pytest.mark.parametrize(
    ("time_s", "written"),
    [
        (0.9995, "00:00:01,000"),
        (1.9995, "00:00:02,000"),
        (59.9996, "00:01:00,000"),
        (3599.9996, "01:00:00,000"),
        (0.0, "00:00:00,000"),
        (1.5, "00:00:01,500"),
        (5025.25, "01:23:45,250"),
        (360_000.5, "100:00:00,500"),
    ],
)
def test_clock_when_time_rounds_then_carries_into_every_field(time_s, written):
    start_ms, _ = span_ms(TimeSpan(time_s, time_s + 1))
    assert clock(start_ms, ",") == written


def test_span_ms_when_start_is_negative_then_zero():
    assert span_ms(TimeSpan(-0.02, 1.0)) == (0, 1000)


def test_span_ms_when_span_is_shorter_than_a_millisecond_then_one():
    assert span_ms(TimeSpan(1.0, 1.0)) == (1000, 1001)
    assert span_ms(TimeSpan(-2.0, -1.0)) == (0, 1)


def test_decimal_seconds_when_padded_then_three_decimals():
    assert [decimal_seconds(ms) for ms in (0, 7, 1500, 59_999)] == [
        "0.000",
        "0.007",
        "1.500",
        "59.999",
    ]
