"""How much a quiet recording is turned up for the detector; its samples stay as they are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Samples, SampleSource

BLOCK_SAMPLES = SAMPLE_RATE_HZ // 10
BLOCKS_AT_ONCE = 600

TARGET_DBFS = -25.0
"""Level of a recording of normal loudness, as the network met it in training."""

TARGET_QUANTILE = 0.95
"""Level means that of the louder blocks: pauses must not count."""

CEILING_DBFS = -10.0
CEILING_QUANTILE = 0.999
"""Where speech is rare, the level of the loudest blocks limits the gain; single bumps do not."""


def detector_gain(samples: SampleSource) -> float:
    """Factor of at least 1 that brings a quiet recording to the level of a normal one.

    samples: (samples,) float32. 1.0 for a recording that is loud enough, or silent.
    """
    if not len(samples):
        return 1.0
    power = np.concatenate(
        [
            _block_power(samples[start : start + BLOCK_SAMPLES * BLOCKS_AT_ONCE])
            for start in range(0, len(samples), BLOCK_SAMPLES * BLOCKS_AT_ONCE)
        ]
    )
    typical, loud = np.quantile(power, (TARGET_QUANTILE, CEILING_QUANTILE), method="nearest")
    if loud <= 0.0:
        return 1.0
    ceiling = 10 ** (CEILING_DBFS / 20) / loud**0.5
    wanted = 10 ** (TARGET_DBFS / 20) / typical**0.5 if typical > 0.0 else ceiling
    return float(max(1.0, min(wanted, ceiling)))


def _block_power(samples: Samples) -> npt.NDArray[np.float32]:
    """Mean square of blocks of 0.1 s, shape (blocks,); a shorter rest is a block too."""
    whole = len(samples) // BLOCK_SAMPLES * BLOCK_SAMPLES
    blocks = samples[:whole].reshape(-1, BLOCK_SAMPLES)
    power = np.einsum("ij,ij->i", blocks, blocks) / np.float32(BLOCK_SAMPLES)
    rest = samples[whole:]
    return np.append(power, np.square(rest).mean()) if len(rest) else power
