"""Power of the channels in blocks of 0.1 s."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.spool import AudioSource
from murmur_cli.timebase import SAMPLE_RATE_HZ

BLOCK_SAMPLES = SAMPLE_RATE_HZ // 10
BLOCKS_AT_ONCE = 600

Power = npt.NDArray[np.float64]
"""Mean square, shape (blocks, channels)."""


def block_power(channels: AudioSource, chosen: list[int] | range, *, mixed: bool = False) -> Power:
    """Mean square of each block: (blocks, chosen channels), or (blocks, 1) of their mean."""
    rows: list[Power] = []
    step = BLOCK_SAMPLES * BLOCKS_AT_ONCE
    for start in range(0, len(channels), step):
        part = channels[start : start + step][:, list(chosen)].astype(np.float64)
        if mixed:
            part = part.mean(axis=1, keepdims=True)
        np.square(part, out=part)
        rows.append(mean_of_blocks(part, BLOCK_SAMPLES))
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
