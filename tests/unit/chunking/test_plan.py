"""Plans worked out by hand."""

from itertools import pairwise

import numpy as np
import pytest

from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.types import ChunkPlan, PackingRule, SampleSpan

RATE = 16_000
WHISPER = PackingRule(max_window_s=30, max_span_s=60, max_gap_s=1)


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * RATE), np.float32)


def spans(*bounds_s: tuple[float, float]) -> list[SampleSpan]:
    return [SampleSpan(int(start * RATE), int(end * RATE)) for start, end in bounds_s]


def bounds(plan: ChunkPlan) -> list[tuple[float, float]]:
    return [(chunk.span.start / RATE, chunk.span.end / RATE) for chunk in plan.chunks]


def test_plan_when_no_speech_then_empty_with_a_rule() -> None:
    for packing in (None, WHISPER):
        plan = plan_chunks([], silence(10), max_chunk_s=300, packing=packing)
        assert plan.chunks == ()
        assert plan.max_chunk_s == 300
        assert plan.rule == "at most 300 s, as set"


def test_plan_when_limit_is_ten_then_few_chunks_with_whole_spans() -> None:
    speech = spans((0, 4), (5, 9), (12, 13))
    plan = plan_chunks(speech, silence(20), max_chunk_s=10, packing=None)
    assert bounds(plan) == [(0, 9), (12, 13)]
    assert [chunk.index for chunk in plan.chunks] == [0, 1]


def test_plan_when_unpacked_then_each_chunk_is_one_window_heard_whole() -> None:
    plan = plan_chunks(spans((1, 4), (8, 9)), silence(20), max_chunk_s=10, packing=None)
    (window,) = plan.chunks[0].windows
    assert window.pieces == (window.span,) == (SampleSpan(1 * RATE, 9 * RATE),)
    assert window.speech == plan.chunks[0].speech == tuple(spans((1, 4), (8, 9)))


def test_plan_when_chunks_could_be_uneven_then_even() -> None:
    # Ten turns of 9 s, one each 10 s: 99 s, two chunks of at most 60 s.
    speech = spans(*[(10 * i, 10 * i + 9) for i in range(10)])
    plan = plan_chunks(speech, silence(100), max_chunk_s=60, packing=None)
    assert bounds(plan) == [(0, 49), (50, 99)]


def test_plan_when_a_long_silence_is_near_the_middle_then_border_there() -> None:
    turns = [(10 * i, 10 * i + 9.5) for i in range(10)]
    turns[3] = (30, 36)  # silence from 36 to 40 s
    plan = plan_chunks(spans(*turns), silence(100), max_chunk_s=70, packing=None)
    assert bounds(plan) == [(0, 36), (40, 99.5)]


def test_plan_when_chunk_is_shorter_than_a_window_then_ceiling_still_true() -> None:
    plan = plan_chunks([SampleSpan(0, 20 * RATE)], silence(20), max_chunk_s=5, packing=WHISPER)
    assert max(chunk.span.length for chunk in plan.chunks) <= 5 * RATE
    assert sum(span.length for chunk in plan.chunks for span in chunk.speech) == 20 * RATE


@pytest.mark.parametrize("packing", [None, WHISPER])
def test_plan_when_five_minutes_without_a_break_then_all_limits_kept(packing) -> None:
    samples = 0.1 * np.random.default_rng(0).standard_normal(300 * RATE).astype(np.float32)
    plan = plan_chunks([SampleSpan(0, 300 * RATE)], samples, max_chunk_s=60, packing=packing)
    assert max(chunk.span.length for chunk in plan.chunks) <= 60 * RATE
    speech = [span for chunk in plan.chunks for span in chunk.speech]
    assert speech[0].start == 0
    assert speech[-1].end == 300 * RATE
    assert all(a.end == b.start for a, b in pairwise(speech))
    if packing is not None:
        windows = [window for chunk in plan.chunks for window in chunk.windows]
        assert max(window.span.length for window in windows) <= 30 * RATE


def test_plan_when_auto_and_short_then_whole_recording() -> None:
    plan = plan_chunks(spans((0, 100)), silence(120), max_chunk_s=None, packing=None)
    assert len(plan.chunks) == 1
    assert plan.max_chunk_s == 120
    assert plan.rule == "auto: the whole recording of 120 s, not longer than 300 s"


def test_plan_when_auto_and_long_then_300_seconds() -> None:
    plan = plan_chunks(
        spans(*[(60 * i, 60 * i + 50) for i in range(15)]),
        silence(900),
        max_chunk_s=None,
        packing=WHISPER,
    )
    assert plan.max_chunk_s == 300
    assert len(plan.chunks) == 3
    assert "300 s" in plan.rule
    assert "900 s" in plan.rule


def test_plan_when_ceiling_is_infinite_then_one_chunk() -> None:
    plan = plan_chunks(
        spans((0, 100), (500, 600)), silence(600), max_chunk_s=float("inf"), packing=WHISPER
    )
    assert bounds(plan) == [(0, 600)]


def test_plan_when_ceiling_is_no_whole_number_of_samples_then_rounded_down() -> None:
    speech = [SampleSpan(0, 16_001)]
    plan = plan_chunks(speech, silence(2), max_chunk_s=16_000.9 / RATE, packing=None)
    assert max(chunk.span.length for chunk in plan.chunks) <= 16_000
