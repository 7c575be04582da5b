"""Speech -> the windows that a recogniser decodes, few and cut at long silences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from murmur_cli.chunking.partition import best_partition
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import SampleSpan, Window

WINDOW_COST = 1.0
SHORT_GAP_COST = 0.5
"""Two cuts without any silence are as bad as one more window."""

UNEVEN_COST = 0.1
LONG_GAP_SAMPLES = SAMPLE_RATE_HZ
"""A silence of a second is as good a place to cut as any longer one."""


@dataclass(frozen=True, slots=True)
class WindowLimits:
    """`PackingRule` in samples; see there."""

    max_window_samples: int
    max_span_samples: int
    max_gap_samples: int


def pack_windows(speech: Sequence[SampleSpan], limits: WindowLimits) -> tuple[Window, ...]:
    """Windows in order; each speech span is in exactly one of them.

    speech: in order, apart or touching, none longer than a window.
    """
    if not speech:
        return ()
    starts = np.array([span.start for span in speech])
    ends = np.array([span.end for span in speech])
    gaps = starts[1:] - ends[:-1]
    # Places on a time line where no silence is longer than a window keeps of it.
    shortening = np.append(0, np.cumsum(gaps - np.minimum(gaps, limits.max_gap_samples)))
    heard_starts, heard_ends = starts - shortening, ends - shortening
    earliest = np.maximum(
        np.searchsorted(heard_starts, heard_ends - limits.max_window_samples),
        np.searchsorted(starts, ends - limits.max_span_samples),
    ).astype(np.int64)
    cut_costs = np.append(SHORT_GAP_COST * np.maximum(0.0, 1.0 - gaps / LONG_GAP_SAMPLES), 0.0)

    def costs(first: int, last: int) -> npt.NDArray[np.float64]:
        heard = heard_ends[last] - heard_starts[first : last + 1]
        unfilled = 1.0 - heard / limits.max_window_samples
        total: npt.NDArray[np.float64] = (
            WINDOW_COST + cut_costs[last] + UNEVEN_COST * unfilled * unfilled
        )
        return total

    return tuple(
        _window(tuple(speech[first : last + 1]), limits.max_gap_samples)
        for first, last in best_partition(earliest, costs)
    )


def _window(speech: tuple[SampleSpan, ...], max_gap_samples: int) -> Window:
    """Window over the speech, its silences shortened in the middle."""
    pieces: list[SampleSpan] = []
    start = speech[0].start
    for left, right in pairwise(speech):
        if right.start - left.end > max_gap_samples:
            kept_before = max_gap_samples // 2
            pieces.append(SampleSpan(start, left.end + kept_before))
            start = right.start - (max_gap_samples - kept_before)
    pieces.append(SampleSpan(start, speech[-1].end))
    return Window(SampleSpan(speech[0].start, speech[-1].end), speech, tuple(pieces))
