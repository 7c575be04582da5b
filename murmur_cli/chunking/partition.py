"""Divide a row of items into groups of neighbours at the least total cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

GroupCosts = Callable[[int, int], npt.NDArray[np.float64]]
"""(first, last) -> costs of the groups first..last, first+1..last, …, last..last."""


def best_partition(
    earliest_first: npt.NDArray[np.int64], group_costs: GroupCosts
) -> list[tuple[int, int]]:
    """First and last item of each group, in order; every item is in exactly one.

    earliest_first: (items,), the earliest item that a group ending with this one may begin
    with; never decreasing, at most the item itself. Ties go to the longer last group.
    """
    count = len(earliest_first)
    best = np.zeros(count + 1)
    group_first = np.zeros(count, dtype=np.int64)
    for last in range(count):
        first = int(earliest_first[last])
        assert first <= last, (first, last)
        totals = best[first : last + 1] + group_costs(first, last)
        choice = int(np.argmin(totals))
        best[last + 1] = totals[choice]
        group_first[last] = first + choice
    groups: list[tuple[int, int]] = []
    last = count - 1
    while last >= 0:
        groups.append((int(group_first[last]), last))
        last = int(group_first[last]) - 1
    groups.reverse()
    return groups
