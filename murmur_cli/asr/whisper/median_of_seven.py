"""Running median over seven neighbours, by minima and maxima of whole rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

WIDTH = 7
REACH = WIDTH // 2

VALUES_AT_ONCE = 12_000
"""What lies between the steps of a block then fits the cache."""


def median_of_seven(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Median of each value and the three on both its sides, as `scipy.ndimage.median_filter`.

    rows: (rows, columns), float32 without NaN; beyond their ends the rows are mirrored, the end
    itself repeated. Same shape.
    """
    wide = _mirrored(rows)
    at_once = max(1, VALUES_AT_ONCE // wide.shape[1])
    for first in range(0, len(wide), at_once):
        # The rows of a block as one: numpy takes a third of the time, and only windows across a
        # border, which belong to no value, come out wrong.
        values = wide[first : first + at_once].reshape(-1)
        values[: values.size - 2 * REACH] = _medians(values)
    return wide[:, : rows.shape[1]]


def _medians(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Median of each whole window, (values,) -> (values - 6,).

    Sorted pairs, threes and fours of neighbours are each made once for all windows. A window is a
    four and the three after it, and its median the fourth smallest value of both.
    """
    low, high = np.minimum, np.maximum
    windows = values.size - 2 * REACH

    # a[i] is the smallest of the group that begins at i, b the next, ...
    pair_a = low(values[:-1], values[1:])
    pair_b = high(values[:-1], values[1:])

    left, right, behind = slice(0, windows), slice(2, 2 + windows), slice(4, 4 + windows)
    four_a = low(pair_a[left], pair_a[right])
    four_d = high(pair_b[left], pair_b[right])
    inner = high(pair_a[left], pair_a[right])
    outer = low(pair_b[left], pair_b[right])
    four_b = low(inner, outer)
    four_c = high(inner, outer)

    last = values[2 * REACH :]
    middle = low(pair_b[behind], last)
    three_c = high(pair_b[behind], last)
    three_a = low(pair_a[behind], middle)
    three_b = high(pair_a[behind], middle)

    # The fourth smallest of two sorted groups: the least, over all ways to take four values of
    # them from below, of the greatest value taken.
    high(four_a, three_c, out=four_a)
    high(four_b, three_b, out=four_b)
    high(four_c, three_a, out=four_c)
    low(four_a, four_b, out=four_a)
    low(four_c, four_d, out=four_c)
    return low(four_a, four_c, out=four_a)


def _mirrored(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """`rows` with three more columns on both sides."""
    count, columns = rows.shape
    mirror = np.pad(np.arange(columns), REACH, mode="symmetric")
    wide = np.empty((count, columns + 2 * REACH), dtype=np.float32)
    wide[:, REACH:-REACH] = rows
    for column in (*range(REACH), *range(-REACH, 0)):
        wide[:, column] = rows[:, mirror[column]]
    return wide
