"""The papers' statistics of attention over speech, in float64.

C³ measures how unequal heads are (entropy), how scattered what they read is (mass outside the
dominant band), and how long it stays the same (Jaccard of top sets); MURMUR's article how few
entries hold 99 % of the mass. Neither gives formulas; what is taken here stands with each function.
Shapes: p (steps, heads, entries), probabilities over the speech, whose sum is at most 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

TOP = 64
"""Entries of a top set (C³)."""

OFFSETS = (1, 2, 4, 8)
"""Steps between the top sets that are compared (C³)."""

MOST = 0.99
"""Of the mass (MURMUR)."""


def normalised(p: npt.NDArray[np.floating[Any]]) -> Array:
    """With sum 1; a head without any mass attends to all entries alike."""
    exact = p.astype(np.float64)
    total = exact.sum(axis=2, keepdims=True)
    even = np.full_like(exact, 1 / p.shape[2])
    result: Array = np.divide(exact, total, out=even, where=total > 0)
    return result


def entropy(p: Array) -> Array:
    """(steps, heads): -sum p log p / log(entries); 0 for one entry, 1 for all alike."""
    terms = np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)
    result: Array = -terms.sum(axis=2) / math.log(p.shape[2])
    return result


def is_top(p: Array, count: int = TOP) -> npt.NDArray[np.bool_]:
    """The `count` entries with most mass; of equal ones the earlier."""
    order = np.argsort(-p, axis=2, kind="stable")[:, :, :count]
    marks = np.zeros(p.shape, dtype=np.bool_)
    np.put_along_axis(marks, order, True, axis=2)
    return marks


def jaccard(top: npt.NDArray[np.bool_], offset: int) -> Array:
    """(steps - offset, heads): common entries of two top sets over those of either."""
    before, after = top[:-offset], top[offset:]
    common = (before & after).sum(axis=2)
    result: Array = common / (before | after).sum(axis=2)
    return result


def outside_band(p: Array, top: npt.NDArray[np.bool_], width: int = TOP) -> Array:
    """(steps, heads): share of the top set's mass outside the dominant band.

    The band is that stretch of `width` neighbours which holds most of it: 0 if the top set is one
    run of entries.
    """
    upto = np.where(top, p, 0.0).cumsum(axis=2)
    upto = np.concatenate([np.zeros_like(upto[:, :, :1]), upto], axis=2)
    total = upto[:, :, -1]
    band = (upto[:, :, width:] - upto[:, :, :-width]).max(axis=2)
    result: Array = 1 - band / total
    return result


def share_for(p: Array, most: float = MOST) -> Array:
    """(steps, heads): least share of the entries that holds `most` of the mass."""
    upto = -np.sort(-p, axis=2)
    upto = upto.cumsum(axis=2)
    # Sums of float64 end a little beside 1.
    count = (upto < most * upto[:, :, -1:] * (1 - 1e-12)).sum(axis=2) + 1
    result: Array = count / p.shape[2]
    return result


def peak_moves(p: Array) -> Array:
    """(steps - 1, heads): entries by which the strongest one moves."""
    moves: Array = np.abs(np.diff(p.argmax(axis=2), axis=0)).astype(np.float64)
    return moves


def shape_of(seen: npt.NDArray[np.floating[Any]], layers: list[list[int]]) -> dict[str, Any]:
    """Sums over steps of one answer, by head and by layer, so that answers can be pooled.

    layers: numbers of the heads of each layer.
    """
    p = normalised(seen)
    top = is_top(p)
    by_layer = np.stack([p[:, at].mean(axis=1) for at in layers], axis=1)
    return {
        "steps": len(p),
        "speech_mass": seen.sum(axis=2, dtype=np.float64).sum(axis=0),
        "entropy": entropy(p).sum(axis=0),
        "outside_band": outside_band(p, top).sum(axis=0),
        "share_99": share_for(p).sum(axis=0),
        "layer_share_99": share_for(by_layer).sum(axis=0),
        **{f"jaccard_{offset}": jaccard(top, offset).sum(axis=0) for offset in OFFSETS},
        **{f"pairs_{offset}": max(0, len(p) - offset) for offset in OFFSETS},
        "peak_moves": peak_moves(p),
    }
