"""Median and spread of repeated measurements."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """Order statistics of samples; quartiles by linear interpolation, ends included."""

    count: int
    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float


def spread_of(samples: Sequence[float]) -> Spread:
    """The spread of at least one sample."""
    ordered = sorted(samples)
    return Spread(
        count=len(ordered),
        minimum=ordered[0],
        lower_quartile=_quantile(ordered, 0.25),
        median=_quantile(ordered, 0.5),
        upper_quartile=_quantile(ordered, 0.75),
        maximum=ordered[-1],
    )


def times_faster(baseline: Sequence[float], samples: Sequence[float]) -> float:
    """How many times less `samples` take than `baseline`.

    With equally many of both, sample i was taken in the same round as baseline i: the median of
    the ratios of the rounds, in which a machine that slows down hits both sides. Else the ratio
    of the medians.
    """
    if len(baseline) == len(samples):
        return statistics.median(base / own for base, own in zip(baseline, samples, strict=True))
    return statistics.median(baseline) / statistics.median(samples)


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
