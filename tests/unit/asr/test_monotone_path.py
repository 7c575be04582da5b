from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from murmur_cli.asr.monotone_path import first_frames


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


def first_frames_cell_by_cell(cost: np.ndarray) -> list[int]:
    """The textbook recurrence in exact fractions, and back by: both, else token, else frame."""
    tokens, frames = cost.shape
    infinite = Fraction(10) ** 60
    total = [[infinite] * (frames + 1) for _ in range(tokens + 1)]
    total[0][0] = Fraction(0)
    for i in range(tokens):
        for j in range(frames):
            before = min(total[i][j], total[i][j + 1], total[i + 1][j])
            total[i + 1][j + 1] = Fraction(float(cost[i, j])) + before
    first = [0] * tokens
    i, j = tokens, frames
    while i:
        first[i - 1] = j - 1
        steps = (total[i - 1][j - 1], total[i - 1][j], total[i][j - 1])
        choice = steps.index(min(steps))
        i, j = i - (choice != 2), j - (choice != 1)
    return first


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


def test_first_frames_when_all_cost_the_same_then_tokens_crowd_at_the_end() -> None:
    """Worked by hand: back from the last cell both are taken until the first token is reached."""
    assert first_frames(np.zeros((3, 5), np.float32)).tolist() == [0, 3, 4]


@settings(deadline=None, max_examples=50)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 9), st.integers(1, 20)),
        # tenths are no whole multiples in binary: their sums tie only if they are exact
        elements=st.one_of(
            st.integers(-3, 3).map(lambda tenths: tenths / 10), st.floats(-5, 5, width=16)
        ).map(lambda value: float(np.float32(value))),
    )
)
def test_first_frames_when_any_costs_then_as_cell_by_cell(cost: np.ndarray) -> None:
    assert first_frames(cost).tolist() == first_frames_cell_by_cell(cost)


@pytest.mark.parametrize("seed", range(3))
def test_first_frames_when_as_long_as_a_window_then_as_cell_by_cell(seed: int) -> None:
    cost = np.random.default_rng(seed).standard_normal((20, 400)).astype(np.float32)
    cost[:, 100:140] = 0.0  # a pause that no head looks at: ties
    assert first_frames(cost).tolist() == first_frames_cell_by_cell(cost)
