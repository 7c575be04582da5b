"""Dynamic time warping of tokens against frames."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

EXACT_BITS = 52
"""Whole numbers of this size, and a bit more, are exact in float64."""


def first_frames(cost: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """First frame of each token on the cheapest monotone path. cost: (tokens, frames), finite.

    The path runs from (0, 0) to the last cell by steps of one token, one frame, or both; among
    equals it took both, else the token, else the frame. Costs are taken as whole multiples of a
    power of two that leaves every sum exact, about 1e-11 of the largest cost: so sums do not
    depend on the order of adding, equals are equal, and a row is filled at once. A path enters a
    row somewhere and then runs along it, so its cost is the row's running sum plus the least
    difference met so far.
    """
    tokens, frames = cost.shape
    exact = _whole_multiples(cost)
    runs_along = np.empty((tokens, frames), dtype=bool)
    takes_both = np.empty((tokens, frames), dtype=bool)
    before = np.full(frames + 1, np.inf)
    before[0] = 0.0
    for token in range(tokens):
        run = np.zeros(frames + 1)
        np.cumsum(exact[token], out=run[1:])
        np.less_equal(before[:-1], before[1:], out=takes_both[token])
        enter = np.minimum(before[:-1], before[1:])
        total = np.full(frames + 1, np.inf)
        np.add(np.minimum.accumulate(enter - run[:-1]), run[1:], out=total[1:])
        np.less(total[:-1], enter, out=runs_along[token])
        before = total
    first = np.empty(tokens, dtype=np.int64)
    frame = frames - 1
    for token in range(tokens - 1, -1, -1):
        frame = int(np.flatnonzero(~runs_along[token, : frame + 1])[-1])
        first[token] = frame
        frame -= int(takes_both[token, frame])
    return first


def _whole_multiples(cost: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """`cost` over a power of two, rounded; sums along a path stay below 2 ** `EXACT_BITS`."""
    largest = float(np.abs(cost).max()) * 2 * sum(cost.shape)
    _, exponent = np.frexp(largest)
    scaled: npt.NDArray[np.float64] = np.ldexp(cost.astype(np.float64), EXACT_BITS - exponent)
    return np.rint(scaled, out=scaled)
