"""What holds for every plan: coverage exactly once, ceilings, order, the same windows."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.types import ChunkPlan, PackingRule, SampleSpan, Window

RATE = 16_000
WHISPER = PackingRule(max_window_s=30.0, max_span_s=60.0, max_gap_s=1.0)
NOISE = 0.1 * np.random.default_rng(0).standard_normal(1_200 * RATE).astype(np.float32)


@st.composite
def speech_spans(draw: st.DrawFn) -> list[SampleSpan]:
    """Turns of 0.01 to 100 s with silences of 0 to 90 s, at most 1200 s together."""
    turns = draw(
        st.lists(
            st.tuples(
                st.one_of(st.just(0), st.integers(1, 20_000), st.integers(1, 90 * RATE)),
                st.one_of(st.integers(160, 5 * RATE), st.integers(160, 100 * RATE)),
            ),
            max_size=25,
        )
    )
    spans: list[SampleSpan] = []
    position = 0
    for gap, length in turns:
        end = position + gap + length
        if end > len(NOISE):
            break
        spans.append(SampleSpan(position + gap, end))
        position = end
    return spans


def windows_of(plan: ChunkPlan) -> list[Window]:
    return [window for chunk in plan.chunks for window in chunk.windows]


def merged(spans: list[SampleSpan]) -> list[tuple[int, int]]:
    """Bounds of the spans, with touching ones joined."""
    joined: list[tuple[int, int]] = []
    for span in spans:
        if joined and joined[-1][1] == span.start:
            joined[-1] = (joined[-1][0], span.end)
        else:
            joined.append((span.start, span.end))
    return joined


@settings(deadline=None, max_examples=60)
@given(
    speech=speech_spans(),
    max_chunk_s=st.sampled_from([None, 1.0, 7.5, 20.0, 60.0, 120.0, 300.0, 5_000.0]),
    packing=st.sampled_from([None, WHISPER, PackingRule(10.0, 12.0, 0.0)]),
)
def test_plan_when_any_speech_then_covered_once_in_order_within_limits(
    speech: list[SampleSpan], max_chunk_s: float | None, packing: PackingRule | None
) -> None:
    plan = plan_chunks(speech, NOISE, max_chunk_s=max_chunk_s, packing=packing)
    windows = windows_of(plan)

    planned = [span for window in windows for span in window.speech]
    assert all(left.end <= right.start for left, right in pairwise(planned))
    assert merged(planned) == merged(speech)

    ceiling = int(plan.max_chunk_s * RATE)
    assert [chunk.index for chunk in plan.chunks] == list(range(len(plan.chunks)))
    for chunk in plan.chunks:
        assert chunk.span.length <= ceiling
        assert chunk.span.start == chunk.windows[0].span.start
        assert chunk.span.end == chunk.windows[-1].span.end
    for left, right in pairwise(windows):
        assert left.span.end <= right.span.start

    for window in windows:
        assert window.pieces[0].start == window.span.start == window.speech[0].start
        assert window.pieces[-1].end == window.span.end == window.speech[-1].end
        assert all(left.end < right.start for left, right in pairwise(window.pieces))
        for span in window.speech:
            assert any(
                piece.start <= span.start and span.end <= piece.end for piece in window.pieces
            )
        if packing is not None:
            assert sum(piece.length for piece in window.pieces) <= packing.max_window_s * RATE
            assert window.span.length <= packing.max_span_s * RATE


@settings(deadline=None, max_examples=30)
@given(speech=speech_spans())
def test_plan_when_chunk_size_differs_then_same_windows(speech: list[SampleSpan]) -> None:
    plans = [
        plan_chunks(speech, NOISE, max_chunk_s=size, packing=WHISPER)
        for size in (60.0, 120.0, 300.0, 900.0, None)
    ]
    first = windows_of(plans[0])
    assert all(windows_of(plan) == first for plan in plans)


@settings(deadline=None, max_examples=30)
@given(speech=speech_spans(), max_chunk_s=st.sampled_from([60.0, 120.0, 300.0]))
def test_plan_when_any_speech_then_as_few_chunks_as_greedy(
    speech: list[SampleSpan], max_chunk_s: float
) -> None:
    """Filling each chunk as far as it goes is the least number for a row of whole windows."""
    plan = plan_chunks(speech, NOISE, max_chunk_s=max_chunk_s, packing=WHISPER)
    greedy, start = 0, None
    for window in windows_of(plan):
        if start is None or window.span.end - start > max_chunk_s * RATE:
            greedy, start = greedy + 1, window.span.start
    assert len(plan.chunks) == greedy
