from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.window_time import WindowTime, speech_after
from murmur_cli.types import SampleSpan, TimeSpan

# One second from 1 s on, then one second from 4 s on.
TIME = WindowTime((SampleSpan(16_000, 32_000), SampleSpan(64_000, 80_000)))


@pytest.mark.parametrize(
    ("window_s", "start", "end"),
    [
        (0.0, 16_000, 16_000),
        (0.5, 24_000, 24_000),
        (
            1.0,
            64_000,
            32_000,
        ),  # the joint: a start belongs to the second piece, an end to the first
        (1.5, 72_000, 72_000),
        (2.0, 80_000, 80_000),
        (9.0, 80_000, 80_000),
        (-1.0, 16_000, 16_000),
    ],
)
def test_to_sample_when_in_pieces_then_by_hand(window_s: float, start: int, end: int) -> None:
    assert TIME.to_sample(window_s) == start
    assert TIME.to_sample(window_s, is_end=True) == end


def test_to_recording_when_across_the_gap_then_spans_it() -> None:
    assert TIME.to_recording(0.5, 1.5) == TimeSpan(1.5, 4.5)
    assert TIME.to_recording(0.5, 1.0) == TimeSpan(1.5, 2.0)
    assert TIME.to_recording(1.0, 1.5) == TimeSpan(4.0, 4.5)


def test_to_recording_when_empty_at_the_joint_then_not_reversed() -> None:
    assert TIME.to_recording(1.0, 1.0) == TimeSpan(4.0, 4.0)


def test_rest_when_cut_inside_a_piece_then_its_rest_and_what_follows() -> None:
    assert TIME.rest_after(0.5) == (SampleSpan(24_000, 32_000), SampleSpan(64_000, 80_000))
    assert TIME.rest_after(1.0) == (SampleSpan(64_000, 80_000),)
    assert TIME.rest_after(2.0) == ()
    assert TIME.duration_s == 2.0


def test_speech_after_when_cut_then_only_what_lies_behind() -> None:
    speech = (SampleSpan(0, 10), SampleSpan(20, 30))
    assert speech_after(speech, 0) == speech
    assert speech_after(speech, 5) == (SampleSpan(5, 10), SampleSpan(20, 30))
    assert speech_after(speech, 10) == (SampleSpan(20, 30),)
    assert speech_after(speech, 30) == ()


@st.composite
def window_times(draw: st.DrawFn) -> WindowTime:
    edges = sorted(draw(st.sets(st.integers(0, 200_000), min_size=2, max_size=12)))
    pairs = zip(edges[::2], edges[1::2], strict=False)
    return WindowTime(tuple(SampleSpan(start, end) for start, end in pairs))


@settings(deadline=None, max_examples=50)
@given(window_times(), st.data())
def test_map_when_sample_inside_a_piece_then_round_trip(
    time: WindowTime, data: st.DataObject
) -> None:
    piece = data.draw(st.sampled_from(time.pieces))
    sample = data.draw(st.integers(piece.start, piece.end - 1))
    before = sum(p.length for p in time.pieces if p.end <= piece.start)
    window_s = (before + sample - piece.start) / 16_000
    assert time.to_sample(window_s) == sample
    if sample > piece.start:
        assert time.to_sample(window_s, is_end=True) == sample


@settings(deadline=None, max_examples=50)
@given(window_times(), st.floats(-1, 20), st.floats(-1, 20))
def test_map_when_any_times_then_inside_the_pieces_and_ordered(
    time: WindowTime, first_s: float, second_s: float
) -> None:
    span = time.to_recording(min(first_s, second_s), max(first_s, second_s))
    low, high = time.pieces[0].start / 16_000, time.pieces[-1].end / 16_000
    assert low <= span.start_s <= span.end_s <= high
    for sample in (time.to_sample(first_s), time.to_sample(first_s, is_end=True)):
        assert any(piece.start <= sample <= piece.end for piece in time.pieces)


@settings(deadline=None, max_examples=50)
@given(window_times(), st.floats(0, 15))
def test_rest_when_cut_anywhere_then_holds_the_remaining_samples(
    time: WindowTime, cut_s: float
) -> None:
    rest = time.rest_after(cut_s)
    wanted = max(0, sum(piece.length for piece in time.pieces) - int(cut_s * 16_000 + 0.5))
    assert sum(piece.length for piece in rest) == wanted
