"""Ranges of True in a row of booleans."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def joined_runs(row: npt.NDArray[np.bool_], max_gap: int = 0) -> list[tuple[int, int]]:
    """Half-open ranges of True, ascending, joined over gaps of at most `max_gap` elements."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(np.int8)))
    joined: list[tuple[int, int]] = []
    for start, end in edges.reshape(-1, 2).tolist():
        if joined and start - joined[-1][1] <= max_gap:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined
