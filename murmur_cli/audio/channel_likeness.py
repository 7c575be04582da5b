"""Which channels of a file hold one and the same signal, up to gain and sign."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from murmur_cli.audio.block_power import BLOCK_SAMPLES, BLOCKS_AT_ONCE, Power
from murmur_cli.audio.spool import AudioSource

ALIKE_CORRELATION = 0.98
"""Channels this similar are one signal, up to gain and noise."""


def products_of(channels: AudioSource) -> Power:
    """Products of all channels, each without its mean, summed over (samples, channels)."""
    count = channels.shape[1]
    products = np.zeros((count, count))
    for start in range(0, len(channels), BLOCK_SAMPLES * BLOCKS_AT_ONCE):
        part = channels[start : start + BLOCK_SAMPLES * BLOCKS_AT_ONCE].astype(np.float64)
        part -= part.mean(axis=0)
        products += part.T @ part
    return products


def correlations(products: Power) -> Power:
    """Correlation of each two channels without its sign; 0 with a silent one."""
    energy = np.sqrt(np.diag(products))
    scale = energy[:, None] * energy[None, :]
    found: Power = np.abs(products) / np.where(scale > 0.0, scale, np.inf)
    return found


def distinct_channels(correlation: Power, chosen: Sequence[int]) -> list[int]:
    """The chosen channels without those that are like an earlier one of them."""
    kept: list[int] = []
    for at in chosen:
        if all(correlation[at, other] < ALIKE_CORRELATION for other in kept):
            kept.append(at)
    return kept
