"""Least-cost division of a row, against trying all divisions."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.chunking.partition import best_partition


def test_partition_when_groups_cost_one_then_fewest() -> None:
    earliest = np.array([0, 0, 1, 2, 3])  # at most two items a group

    def costs(first: int, last: int) -> np.ndarray:
        return np.ones(last - first + 1)

    groups = best_partition(earliest, costs)
    assert len(groups) == 3
    assert [item for first, last in groups for item in range(first, last + 1)] == list(range(5))


def test_partition_when_no_items_then_no_groups() -> None:
    assert best_partition(np.zeros(0, np.int64), lambda first, last: np.zeros(1)) == []


@settings(deadline=None, max_examples=50)
@given(
    table=st.lists(st.integers(0, 9), min_size=64, max_size=64),
    count=st.integers(1, 8),
    longest=st.integers(1, 4),
)
def test_partition_when_random_costs_then_as_brute_force(
    table: list[int], count: int, longest: int
) -> None:
    cost = np.array(table, dtype=float).reshape(8, 8)
    earliest = np.maximum(0, np.arange(count) - longest + 1)

    def total(groups: list[tuple[int, int]]) -> float:
        return float(sum(cost[first, last] for first, last in groups))

    ours = best_partition(earliest, lambda first, last: cost[first : last + 1, last])
    best = min(
        total(groups)
        for cuts in range(count)
        for chosen in combinations(range(1, count), cuts)
        for groups in [list(zip((0, *chosen), (*(c - 1 for c in chosen), count - 1), strict=True))]
        if all(last - first < longest for first, last in groups)
    )
    assert total(ours) == best
    assert all(last - first < longest for first, last in ours)
