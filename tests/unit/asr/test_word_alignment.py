from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import median_filter

from murmur_cli.asr.whisper.word_alignment import token_starts_s


def attention_of(starts: list[int], entries: int) -> np.ndarray:
    """Two heads that look at the entries of each token, from its start to the next."""
    attention = np.full((len(starts), 2, entries), 0.001, np.float16)
    for token, (start, end) in enumerate(itertools.pairwise([*starts, entries])):
        attention[token, :, start:end] = 1 / (end - start)
    return attention


def test_token_starts_when_attention_is_clear_then_within_a_frame() -> None:
    starts = token_starts_s(attention_of([0, 20, 45, 70], 100), 2.0)
    assert starts[:-1] == pytest.approx([0.0, 0.4, 0.9, 1.4], abs=0.021)
    assert starts[-1] == 2.0


def test_token_starts_when_audio_is_shorter_than_the_window_then_padding_is_not_looked_at() -> None:
    attention = attention_of([0, 20, 45], 60)
    padded = np.concatenate([attention, np.full((3, 2, 40), 0.9, np.float16)], axis=2)
    assert token_starts_s(padded, 1.2) == pytest.approx(token_starts_s(attention, 1.2))


def test_token_starts_when_nothing_was_read_then_still_monotone() -> None:
    starts = token_starts_s(np.zeros((5, 2, 50), np.float16), 1.0)
    assert (np.diff(starts) >= 0).all()
    assert starts[0] == 0.0


def token_starts_in_plain_steps(attention: np.ndarray, audio_s: float) -> np.ndarray:
    """The definition, with scipy's median and a path filled cell by cell."""
    entries = max(1, min(attention.shape[2], round(audio_s / 0.02)))
    weights = attention[:, :, :entries].astype(np.float32)
    weights = (weights - weights.mean(axis=0)) / np.maximum(weights.std(axis=0), 1e-6)
    cost = -median_filter(weights, size=(1, 1, 7), mode="reflect").mean(axis=1)
    tokens, frames = cost.shape
    total = np.full((tokens + 1, frames + 1), np.inf)
    total[0, 0] = 0.0
    for i, j in np.ndindex(tokens, frames):
        total[i + 1, j + 1] = cost[i, j] + min(total[i, j], total[i, j + 1], total[i + 1, j])
    first = np.zeros(tokens)
    i, j = tokens, frames
    while i:
        first[i - 1] = j - 1
        choice = np.argmin((total[i - 1, j - 1], total[i - 1, j], total[i, j - 1]))
        i, j = i - (choice != 2), j - (choice != 1)
    return np.minimum(np.append(first * 0.02, audio_s), audio_s)


@pytest.mark.parametrize("tokens", [1, 2, 25])
@pytest.mark.parametrize("audio_s", [0.01, 0.06, 7.0, 30.0])
def test_token_starts_when_attention_is_random_then_as_in_plain_steps(
    tokens: int, audio_s: float
) -> None:
    peaks = np.random.default_rng(tokens).random((tokens, 3, 500)) ** 8
    attention = (peaks / peaks.sum(axis=2, keepdims=True)).astype(np.float16)
    found = token_starts_s(attention, audio_s)
    assert np.array_equal(found, token_starts_in_plain_steps(attention, audio_s))


@settings(deadline=None, max_examples=50)
@given(
    attention=hnp.arrays(
        np.float16,
        st.tuples(st.integers(1, 12), st.integers(1, 3), st.integers(1, 30)),
        elements=st.floats(0, 1, width=16),
    ),
    audio_s=st.floats(0.001, 3.0),
)
def test_token_starts_when_any_attention_then_monotone_within_the_audio(
    attention: np.ndarray, audio_s: float
) -> None:
    starts = token_starts_s(attention, audio_s)
    assert starts.shape == (attention.shape[0] + 1,)
    assert (np.diff(starts) >= 0).all()
    assert starts[0] >= 0.0
    assert starts[-1] == audio_s
