from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from murmur_cli.asr.whisper.word_alignment import first_frames, token_starts_s


def cheapest_by_brute_force(cost: np.ndarray) -> tuple[float, list[list[int]]]:
    """Cost of the cheapest monotone path, and the first frames of all paths that reach it."""
    tokens, frames = cost.shape
    best, firsts = np.inf, []
    for length in range(max(tokens, frames), tokens + frames):
        for steps in itertools.product([(1, 0), (0, 1), (1, 1)], repeat=length - 1):
            if sum(s[0] for s in steps) != tokens - 1 or sum(s[1] for s in steps) != frames - 1:
                continue
            path = [(0, 0)]
            for step in steps:
                path.append((path[-1][0] + step[0], path[-1][1] + step[1]))
            total = sum(float(cost[cell]) for cell in path)
            first = [min(j for i, j in path if i == token) for token in range(tokens)]
            if total < best - 1e-9:
                best, firsts = total, []
            if total <= best + 1e-9:
                firsts.append(first)
    return best, firsts


@pytest.mark.parametrize(
    ("tokens", "frames"), [(1, 1), (1, 4), (4, 1), (2, 3), (3, 4), (4, 3), (3, 5)]
)
def test_first_frames_when_compared_with_all_paths_then_cheapest(tokens: int, frames: int) -> None:
    for seed in range(3):
        cost = np.random.default_rng(seed).standard_normal((tokens, frames)).astype(np.float32)
        _, firsts = cheapest_by_brute_force(cost)
        assert first_frames(cost).tolist() in firsts


def test_first_frames_when_tokens_own_blocks_then_their_starts() -> None:
    cost = np.ones((3, 10), np.float32)
    cost[0, :4] = cost[1, 4:7] = cost[2, 7:] = -1
    assert first_frames(cost).tolist() == [0, 4, 7]


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
