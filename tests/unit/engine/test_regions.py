from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.engine.regions import count_entries, merge_ranges

RANGES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6)


def test_merge_ranges_when_touching_or_overlapping_then_one() -> None:
    assert merge_ranges((5, 9), (0, 2), (2, 4)) == ((0, 4), (5, 9))
    assert merge_ranges((0, 7), (3, 5)) == ((0, 7),)


def test_merge_ranges_when_empty_then_they_vanish() -> None:
    assert merge_ranges() == ()
    assert merge_ranges((3, 3), (7, 5)) == ()


@settings(deadline=None, max_examples=50)
@given(RANGES)
def test_merge_ranges_when_any_then_same_entries_ascending_and_apart(
    ranges: list[tuple[int, int]],
) -> None:
    merged = merge_ranges(*ranges)
    wanted = {j for start, end in ranges for j in range(start, end)}
    assert {j for start, end in merged for j in range(start, end)} == wanted
    assert count_entries(merged) == len(wanted)
    assert all(start < end for start, end in merged)
    assert all(left[1] < right[0] for left, right in pairwise(merged))
