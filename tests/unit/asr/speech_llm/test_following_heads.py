"""Which heads follow the audio: by hand, by brute force, and for heads of many kinds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.following_heads import (
    MIN_TOKENS,
    MOST_HEADS,
    following_heads,
    progress,
)
from murmur_cli.engine.speech_peaks import REACH, PeakTrace


@pytest.mark.parametrize(
    ("places", "share"),
    [
        ([], 0.0),
        ([5], 0.0),
        ([5, 5, 5, 5], 0.0),
        ([1, 2, 3, 9], 1.0),
        ([4, 3, 2, 1], 0.0),  # one place explains as much
        ([0, 10, 0, 10], 0.5),  # one of them counts as misplaced, of 20
    ],
)
def test_progress_by_hand(places: list[int], share: float) -> None:
    assert progress(places) == pytest.approx(share)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_progress_when_any_places_then_that_of_the_nearest_sequence(places: list[int]) -> None:
    spread = min(sum(abs(place - middle) for place in places) for middle in places)
    nearest = min(
        sum(abs(a - b) for a, b in zip(places, path, strict=True))
        for path in itertools.combinations_with_replacement(range(6), len(places))
    )
    assert progress(places) == pytest.approx(1 - nearest / spread if spread else 0.0)


def trace_of(places: np.ndarray, *, near: float = 0.6, on_speech: float = 0.8) -> PeakTrace:
    """Heads at `places` (tokens, heads), with so much of their attention there."""
    around = np.zeros((*places.shape, 2 * REACH + 1), np.float32)
    around[:, :, REACH] = near
    heads = tuple((layer, 0) for layer in range(places.shape[1]))
    whole = np.full(places.shape, on_speech, np.float32)
    return PeakTrace(heads, places.astype(np.int64), whole, around)


def kinds_of_heads(tokens: int) -> np.ndarray:
    random = np.random.default_rng(1)
    diagonal = np.arange(tokens) * 3
    strays = np.where(random.random(tokens) < 0.1, random.integers(0, 3 * tokens, tokens), diagonal)
    jitter = diagonal + random.integers(-2, 3, tokens)
    sink = np.where(random.random(tokens) < 0.1, random.integers(0, 3 * tokens, tokens), 7)
    anywhere = random.integers(0, 3 * tokens, tokens)
    two_places = np.where(np.arange(tokens) < tokens // 2, 10, 200)
    return np.stack([sink, jitter, anywhere, diagonal, two_places, strays], axis=1)


def test_heads_of_many_kinds_then_only_those_that_go_on() -> None:
    trace = trace_of(kinds_of_heads(200))
    found = following_heads(trace, np.ones(200, bool))
    assert set(found) == {1, 3, 5}
    assert found[0] == 3


def test_heads_when_their_attention_is_spread_out_then_none() -> None:
    trace = trace_of(kinds_of_heads(200), near=0.1)
    assert following_heads(trace, np.ones(200, bool)) == ()


def test_heads_when_marks_look_elsewhere_then_the_text_counts() -> None:
    places = np.repeat(np.arange(0, 300, 3), 2)[:, None]
    is_text = np.arange(200) % 2 == 0
    places[~is_text] = 0
    assert following_heads(trace_of(places), is_text) == (0,)
    assert following_heads(trace_of(places), np.ones(200, bool)) == ()


def test_heads_when_too_little_is_said_then_none() -> None:
    places = np.arange(MIN_TOKENS - 1)[:, None] * 3
    assert following_heads(trace_of(places), np.ones(len(places), bool)) == ()


def test_heads_when_many_follow_then_the_most_peaked() -> None:
    trace = trace_of(np.repeat(np.arange(100)[:, None], MOST_HEADS + 2, axis=1))
    trace.near[:, :, REACH] *= np.linspace(0.5, 1.0, MOST_HEADS + 2, dtype=np.float32)
    assert following_heads(trace, np.ones(100, bool)) == (5, 4, 3, 2)
