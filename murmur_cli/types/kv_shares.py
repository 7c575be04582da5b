"""Budgets of the speech cache by layer and head, and what `murmur calibrate` makes them of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HeadSpread:
    """Of one KV head, mean over decode steps.

    Attributes:
        share: exp(H) / N, with H the entropy of the attention over the N speech entries: the
            share of the speech that evenly spread attention of this entropy covers. The mean is
            that of logarithms.
        mass: of the attention that meets the speech at all.
    """

    share: float
    mass: float


@dataclass(frozen=True, slots=True)
class KvShares:
    """What each KV head of a model may read of the speech.

    Attributes:
        model: name of the recogniser, as `ModelChoice.stored_name`.
        mean: of all shares.
        shares: layer → KV head → share of the row's speech entries, above 0 and at most 1.
        source: name of the recipe that holds them.
    """

    model: str
    mean: float
    shares: tuple[tuple[float, ...], ...]
    source: str
