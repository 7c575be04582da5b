"""Where to cut a stretch of speech that is longer than a window: at its quietest points.

The stretch is measured in steps of 10 ms. Its quietest step in each cell of some tenths of a
second is a candidate; of the ways to cut at candidates so that no piece is too long, the one
with few pieces, quiet cuts and even lengths is taken.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from murmur_cli.chunking.partition import best_partition
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import SampleSource, SampleSpan

HOP_SAMPLES = SAMPLE_RATE_HZ // 100
SMOOTHED_HOPS = 5
"""Quiet means quiet for 50 ms: a single period of a low voice has quiet samples too."""

CELL_HOPS = 40
CELLS_PER_PIECE = 8
"""Short pieces get smaller cells, so that there is always a choice."""

HOPS_AT_ONCE = 1 << 14
POWER_FLOOR = 1e-10

PIECE_COST = 1.0
LOUD_CUT_COST = 2.0
"""A cut in the loudest place is as bad as two more pieces, for it may cut a word; one in the
quietest is free."""

UNEVEN_COST = 0.1

MIN_CONTRAST_DB, MAX_CONTRAST_DB = 6.0, 30.0
"""Smaller differences are chance; a place this much below the loudest is quiet enough."""


def cut_long_span(
    samples: SampleSource, span: SampleSpan, max_piece_samples: int
) -> tuple[SampleSpan, ...]:
    """The span in pieces of at most `max_piece_samples`, without gap or overlap.

    samples: (samples,) float32, the whole recording. A span that is short enough is returned
    as the only piece.
    """
    if span.length <= max_piece_samples:
        return (span,)
    cuts, loudness = _candidates(samples, span, max_piece_samples)
    bounds = np.concatenate(([span.start], cuts, [span.end]))
    starts, ends = bounds[:-1], bounds[1:]
    # A cut belongs to the piece that it ends; the end of the span costs nothing.
    cut_costs = np.append(LOUD_CUT_COST * loudness, 0.0)

    def costs(first: int, last: int) -> npt.NDArray[np.float64]:
        unfilled = 1.0 - (ends[last] - starts[first : last + 1]) / max_piece_samples
        total: npt.NDArray[np.float64] = (
            PIECE_COST + cut_costs[last] + UNEVEN_COST * unfilled * unfilled
        )
        return total

    earliest = np.searchsorted(starts, ends - max_piece_samples).astype(np.int64)
    return tuple(
        SampleSpan(int(starts[first]), int(ends[last]))
        for first, last in best_partition(earliest, costs)
    )


def _candidates(
    samples: SampleSource, span: SampleSpan, max_piece_samples: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Positions of possible cuts, ascending, and the loudness of each in [0, 1]."""
    hop = min(HOP_SAMPLES, max(1, max_piece_samples // (2 * CELLS_PER_PIECE)))
    cell = max(1, min(CELL_HOPS, max_piece_samples // (CELLS_PER_PIECE * hop)))
    level = _level_db(samples, span, hop)
    cells = np.arange(0, len(level), cell)
    chosen = np.array([start + int(np.argmin(level[start : start + cell])) for start in cells])
    positions = span.start + chosen * hop + hop // 2
    inside = (positions > span.start) & (positions < span.end)
    positions, level = positions[inside], level[chosen[inside]]
    loud = np.quantile(level, 0.98)
    contrast_db = np.clip(loud - level.min(), MIN_CONTRAST_DB, MAX_CONTRAST_DB)
    loudness = np.clip(1.0 - (loud - level) / contrast_db, 0.0, 1.0)
    return positions.astype(np.int64), loudness


def _level_db(samples: SampleSource, span: SampleSpan, hop: int) -> npt.NDArray[np.float64]:
    """Smoothed level of each whole hop of the span, shape (hops,), dB."""
    hops = span.length // hop
    power = np.empty(hops)
    for first in range(0, hops, HOPS_AT_ONCE):
        last = min(hops, first + HOPS_AT_ONCE)
        block = samples[span.start + first * hop : span.start + last * hop].astype(np.float64)
        power[first:last] = np.square(block).reshape(-1, hop).mean(axis=1)
    edge = SMOOTHED_HOPS // 2
    padded = np.pad(power, edge, mode="edge")
    smooth = np.convolve(padded, np.full(SMOOTHED_HOPS, 1.0 / SMOOTHED_HOPS), mode="valid")
    level: npt.NDArray[np.float64] = 10.0 * np.log10(np.maximum(smooth, POWER_FLOOR))
    return level
