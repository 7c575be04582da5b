"""Power of the channels in blocks of 0.1 s, without what is constant in them (the offset of a
bad converter is no sound)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.spool import AudioSource
from murmur_cli.timebase import SAMPLE_RATE_HZ

BLOCK_SAMPLES = SAMPLE_RATE_HZ // 10
BLOCKS_AT_ONCE = 600

Power = npt.NDArray[np.float64]
"""Variance of each block, shape (blocks, channels)."""


def block_power(channels: AudioSource, chosen: list[int] | range, *, mixed: bool = False) -> Power:
    """Variance of each block: (blocks, chosen channels), or (blocks, 1) of their mean."""
    rows: list[Power] = []
    step = BLOCK_SAMPLES * BLOCKS_AT_ONCE
    for start in range(0, len(channels), step):
        part = channels[start : start + step][:, list(chosen)].astype(np.float64)
        if mixed:
            part = part.mean(axis=1, keepdims=True)
        offset = mean_of_blocks(part, BLOCK_SAMPLES)
        np.square(part, out=part)
        # Never below 0 by rounding.
        rows.append(np.maximum(mean_of_blocks(part, BLOCK_SAMPLES) - offset**2, 0.0))
    return np.concatenate(rows) if rows else np.zeros((0, 1 if mixed else len(chosen)))


def mean_of_blocks(values: Power, block_samples: int) -> Power:
    """Mean of each block of rows; a shorter rest is a block too."""
    firsts = np.arange(0, len(values), block_samples)
    lengths = np.diff(np.append(firsts, len(values)))
    means: Power = np.add.reduceat(values, firsts, axis=0) / lengths[:, None]
    return means


def decibels(power: Power) -> Power:
    """Level in dB; silence is -200."""
    level: Power = 10 * np.log10(np.maximum(power, 1e-20))
    return level
