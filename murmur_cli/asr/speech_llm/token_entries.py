"""First speech entry of each token of a text, from where following heads looked.

The cheapest monotone path of tokens over entries, as for Whisper (`asr.monotone_path`); what the
heads saw is known around their strongest entry only, which is where a following head looks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from murmur_cli.asr.monotone_path import first_frames
from murmur_cli.engine.speech_peaks import REACH, PeakTrace

IDLE_COST = 1e-3
"""Of an entry that a token did not look at: silence before and after all costs nothing, so that
tokens do not stretch into it."""

MOST_CELLS = 4_000_000
"""Of tokens times entries at once: 30 to 60 MB. A longer text is placed roughly first."""

RUN = 256
"""Tokens that are placed together after that."""

SLACK = 2
"""Entries beside a token's own that still agree with them."""


def first_entries(trace: PeakTrace, first: int, end: int) -> npt.NDArray[np.int64]:
    """First entry of each token, then the end of the last: (tokens + 1,), never going back.

    Args:
        trace: the tokens, and heads that follow the audio.
        first, end: the entries that the text was heard from.
    """
    entries = end - first
    assert trace.tokens > 0 < entries, (trace.tokens, first, end)
    pool = -(-(trace.tokens + 2) * entries // MOST_CELLS)
    if pool == 1:
        return first + _path(trace, first, entries, 1)
    rough = np.minimum(_path(trace, first, entries, pool) * pool, entries - 1)
    found = np.empty(trace.tokens + 1, dtype=np.int64)
    for begin in range(0, trace.tokens, RUN):
        stop = min(begin + RUN, trace.tokens)
        low, high = int(rough[begin]), min(entries, int(rough[stop]) + pool)
        part = trace.part(slice(begin, stop), range(len(trace.heads)))
        found[begin : stop + 1] = first + low + _path(part, first + low, high - low, 1)
    return np.maximum.accumulate(found)


def agreement(trace: PeakTrace, entries: npt.NDArray[np.int64]) -> float:
    """Share of what the heads saw that lies where the tokens were placed.

    entries: of `first_entries` for these tokens.
    """
    place, weight = _seen(trace)
    low = entries[:-1, None, None] - SLACK
    high = entries[1:, None, None] + SLACK
    total = float(weight.sum())
    inside = float(weight[(place >= low) & (place <= high)].sum())
    return inside / total if total > 0 else 0.0


def _path(trace: PeakTrace, first: int, entries: int, pool: int) -> npt.NDArray[np.int64]:
    """First column of each token and of the silence after, a column being `pool` entries."""
    columns = -(-entries // pool)
    rows = trace.tokens + 2  # with the silence before and after
    place, weight = _seen(trace)
    column = (place - first) // pool
    token = np.broadcast_to(np.arange(1, rows - 1)[:, None, None], place.shape)
    known = (place >= first) & (column < columns)
    sums = np.bincount(
        token[known] * columns + column[known], weight[known], minlength=rows * columns
    )
    looks = sums.reshape(rows, columns).astype(np.float32)
    looks -= looks.mean(axis=0)
    looks[1:-1] -= IDLE_COST
    looks[[0, -1]] = 0.0
    return first_frames(-looks)[1:]


def _seen(trace: PeakTrace) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Entries and the mean of the heads' probabilities there, both (tokens, heads, near)."""
    place = trace.places[:, :, None] + np.arange(-REACH, REACH + 1)
    return place, trace.near / np.float32(len(trace.heads))
