"""Order statistics by hand."""

from __future__ import annotations

import pytest

from murmur_cli.bench.spread import Spread, spread_of, times_faster


def test_spread_when_samples_are_five_then_quartiles_are_the_second_and_fourth() -> None:
    assert spread_of([5.0, 1.0, 4.0, 2.0, 3.0]) == Spread(5, 1.0, 2.0, 3.0, 4.0, 5.0)


def test_spread_when_samples_are_four_then_quartiles_lie_between() -> None:
    # Places 0.75, 1.5 and 2.25 among 1, 2, 4, 8.
    assert spread_of([8.0, 4.0, 2.0, 1.0]) == Spread(4, 1.0, 1.75, 3.0, 5.0, 8.0)


def test_spread_when_there_is_one_sample_then_it_is_everything() -> None:
    assert spread_of([2.5]) == Spread(1, 2.5, 2.5, 2.5, 2.5, 2.5)


def test_times_faster_when_rounds_are_equal_then_median_of_their_ratios() -> None:
    # Ratios 2, 4 and 3; the medians alone would give 30 / 5 = 6.
    assert times_faster([10.0, 40.0, 30.0], [5.0, 10.0, 10.0]) == pytest.approx(3.0)


def test_times_faster_when_one_side_has_fewer_rounds_then_ratio_of_medians() -> None:
    assert times_faster([10.0, 20.0, 60.0], [4.0, 6.0]) == pytest.approx(20.0 / 5.0)
