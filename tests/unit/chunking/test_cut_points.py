"""Cuts of a long stretch of speech at places made quiet on purpose."""

from itertools import pairwise

import numpy as np

from murmur_cli.chunking.cut_points import cut_long_span
from murmur_cli.types import SampleSpan

RATE = 16_000


def loud(seconds: float) -> np.ndarray:
    return 0.1 * np.random.default_rng(0).standard_normal(int(seconds * RATE)).astype(np.float32)


def quieten(samples: np.ndarray, *at_s: float) -> np.ndarray:
    for time_s in at_s:
        samples[int((time_s - 0.05) * RATE) : int((time_s + 0.05) * RATE)] *= 0.01
    return samples


def cuts_s(pieces: tuple[SampleSpan, ...]) -> list[float]:
    return [piece.start / RATE for piece in pieces[1:]]


def check(pieces: tuple[SampleSpan, ...], span: SampleSpan, max_samples: int) -> None:
    assert pieces[0].start == span.start
    assert pieces[-1].end == span.end
    assert all(a.end == b.start for a, b in pairwise(pieces))
    assert max(piece.length for piece in pieces) <= max_samples


def test_cut_when_short_enough_then_whole() -> None:
    span = SampleSpan(100, 100 + RATE)
    assert cut_long_span(loud(2), span, RATE) == (span,)


def test_cut_when_quiet_places_then_there() -> None:
    samples = quieten(loud(50), 14.0, 22.0, 37.0)
    span = SampleSpan(2 * RATE, 48 * RATE)
    pieces = cut_long_span(samples, span, 30 * RATE)
    check(pieces, span, 30 * RATE)
    # 46 s need one cut, between 18 and 32 s: the only quiet place there is at 22 s.
    assert len(pieces) == 2
    assert abs(cuts_s(pieces)[0] - 22.0) <= 0.05


def test_cut_when_one_more_piece_avoids_a_loud_cut_then_taken() -> None:
    # 59 s in two pieces could be cut only in the loud second 29–30.
    samples = quieten(loud(59), 20.0, 39.0)
    pieces = cut_long_span(samples, SampleSpan(0, 59 * RATE), 30 * RATE)
    assert [round(cut) for cut in cuts_s(pieces)] == [20, 39]


def test_cut_when_all_alike_then_even_pieces() -> None:
    span = SampleSpan(0, 100 * RATE)
    pieces = cut_long_span(np.full(100 * RATE, 0.1, np.float32), span, 30 * RATE)
    check(pieces, span, 30 * RATE)
    assert len(pieces) == 4
    assert max(piece.length for piece in pieces) - min(piece.length for piece in pieces) < RATE


def test_cut_when_five_minutes_without_a_break_then_ceiling_kept() -> None:
    span = SampleSpan(0, 300 * RATE)
    pieces = cut_long_span(loud(300), span, 30 * RATE)
    check(pieces, span, 30 * RATE)
    assert len(pieces) <= 12


def test_cut_when_digital_silence_then_ceiling_kept() -> None:
    span = SampleSpan(0, 10 * RATE)
    check(cut_long_span(np.zeros(10 * RATE, np.float32), span, RATE), span, RATE)


def test_cut_when_limit_is_tiny_then_ceiling_kept() -> None:
    span = SampleSpan(7, 5_007)
    for limit in (3, 17, 160, 1_000):
        check(cut_long_span(loud(1), span, limit), span, limit)
