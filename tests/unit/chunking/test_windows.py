"""Windows worked out by hand; one unit is a second."""

from murmur_cli.chunking.windows import WindowLimits, pack_windows
from murmur_cli.types import SampleSpan, Window

RATE = 16_000
LIMITS = WindowLimits(30 * RATE, 60 * RATE, RATE)


def spans(*bounds_s: tuple[float, float]) -> list[SampleSpan]:
    return [SampleSpan(int(start * RATE), int(end * RATE)) for start, end in bounds_s]


def seconds(pieces: tuple[SampleSpan, ...]) -> list[tuple[float, float]]:
    return [(piece.start / RATE, piece.end / RATE) for piece in pieces]


def bounds(windows: tuple[Window, ...]) -> list[tuple[float, float]]:
    return seconds(tuple(window.span for window in windows))


def test_windows_when_all_fits_then_one() -> None:
    (window,) = pack_windows(spans((1, 5), (5.5, 9)), LIMITS)
    assert window.span == SampleSpan(1 * RATE, 9 * RATE)
    assert seconds(window.pieces) == [(1, 9)]


def test_windows_when_gap_is_long_then_half_a_second_kept_on_each_side() -> None:
    (window,) = pack_windows(spans((1, 5), (12, 14)), LIMITS)
    assert seconds(window.pieces) == [(1, 5.5), (11.5, 14)]
    assert seconds(window.speech) == [(1, 5), (12, 14)]


def test_windows_when_shortened_silence_makes_room_then_one() -> None:
    # 14.5 + 1 + 14.5 = 30 s heard over a span of 50 s: just fits.
    assert len(pack_windows(spans((0, 14.5), (35.5, 50)), LIMITS)) == 1
    # One more sample does not.
    assert len(pack_windows([SampleSpan(0, 232_001), *spans((35.5, 50))], LIMITS)) == 2


def test_windows_when_span_is_too_long_then_divided() -> None:
    assert len(pack_windows(spans((0, 5), (50, 60)), LIMITS)) == 1
    assert len(pack_windows(spans((0, 5), (50, 60.5)), LIMITS)) == 2


def test_windows_when_cut_is_needed_then_at_the_long_silence() -> None:
    # 44 s of speech need two windows; 0.8 s of silence after 20 s, 0.1 s elsewhere.
    speech = spans((0, 10), (10.1, 20), (20.8, 30), (30.1, 44))
    assert bounds(pack_windows(speech, LIMITS)) == [(0, 20), (20.8, 44)]


def test_windows_when_silences_are_alike_then_even() -> None:
    speech = spans(*[(11 * i, 11 * i + 9) for i in range(4)])  # 40 s heard
    assert bounds(pack_windows(speech, LIMITS)) == [(0, 20), (22, 42)]


def test_windows_when_spans_touch_then_one_piece() -> None:
    (window,) = pack_windows(spans((0, 5), (5, 9)), LIMITS)
    assert seconds(window.pieces) == [(0, 9)]


def test_windows_when_gap_limit_is_zero_then_speech_only() -> None:
    (window,) = pack_windows(spans((0, 5), (7, 9)), WindowLimits(30 * RATE, 60 * RATE, 0))
    assert seconds(window.pieces) == [(0, 5), (7, 9)]


def test_windows_when_no_speech_then_none() -> None:
    assert pack_windows([], LIMITS) == ()
