"""The statistics, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from policies.attention_shape import (
    entropy,
    is_top,
    jaccard,
    normalised,
    outside_band,
    peak_moves,
    shape_of,
    share_for,
)


def one_head(*steps: list[float]) -> np.ndarray:
    """(steps, 1, entries)"""
    return np.array(steps, dtype=np.float64)[:, None]


def test_normalised_when_part_lies_elsewhere_then_sums_to_one() -> None:
    p = normalised(one_head([0.1, 0.3], [0.0, 0.0]))
    assert p[:, 0].tolist() == [pytest.approx([0.25, 0.75]), [0.5, 0.5]]


def test_entropy_when_even_or_on_one_entry_then_one_and_zero() -> None:
    found = entropy(one_head([0.25] * 4, [1.0, 0, 0, 0], [0.5, 0.5, 0, 0]))
    assert found[:, 0] == pytest.approx([1.0, 0.0, math.log(2) / math.log(4)])


def test_top_when_entries_are_equal_then_the_earlier() -> None:
    assert is_top(one_head([0.2, 0.2, 0.4, 0.2]), 2)[0, 0].tolist() == [True, False, True, False]


def test_jaccard_when_one_of_two_entries_stays_then_a_third() -> None:
    top = is_top(one_head([0.5, 0.4, 0.1, 0], [0.5, 0.1, 0.4, 0], [0, 0.1, 0.4, 0.5]), 2)
    assert jaccard(top, 1)[:, 0] == pytest.approx([1 / 3, 1 / 3])
    assert jaccard(top, 2)[:, 0] == pytest.approx([0.0])


def test_outside_band_when_two_places_then_the_weaker_one() -> None:
    p = one_head([0.5, 0.2, 0, 0, 0.2, 0.1])
    # Of the four entries of the top set the band of two holds 0.7 of 1.
    assert outside_band(p, is_top(p, 4), width=2)[0, 0] == pytest.approx(0.3)
    assert outside_band(p, is_top(p, 2), width=2)[0, 0] == pytest.approx(0.0)


def test_share_when_two_of_four_entries_hold_enough_then_half() -> None:
    p = one_head([0.0, 0.6, 0.395, 0.005], [0.25] * 4, [1.0, 0, 0, 0])
    assert share_for(p)[:, 0] == pytest.approx([0.5, 1.0, 0.25])


def test_peak_when_it_moves_then_by_entries() -> None:
    assert peak_moves(one_head([1.0, 0, 0], [0, 0, 1.0], [0, 1.0, 0]))[:, 0].tolist() == [2, 1]


def test_shape_when_summed_then_over_steps_by_head_and_layer() -> None:
    random = np.random.default_rng(0)
    seen = random.dirichlet(np.full(100, 0.1), size=(12, 4)) * 0.5
    shape = shape_of(seen, [[0, 1], [2, 3]])
    p = seen / seen.sum(axis=2, keepdims=True)
    assert shape["steps"] == 12
    assert shape["speech_mass"] == pytest.approx([6.0] * 4)
    assert shape["entropy"] == pytest.approx(entropy(p).sum(axis=0))
    assert shape["pairs_8"] == 4
    assert shape["jaccard_8"].shape == (4,)
    second = p[:, 2:].mean(axis=1, keepdims=True)
    assert shape["layer_share_99"][1] == pytest.approx(share_for(second).sum())
