"""Level of a mono signal: bring it into full scale, and measure it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from murmur_cli.types import Samples

BLOCK_SAMPLES = 1 << 20

MAX_STRAY_SHARE = 1e-4
"""Over-range samples rarer than this are faults to clip, not a loud recording to scale."""

USUAL_OVERSHOOT = 1.5
"""Lossy codecs and resampling overshoot full scale by up to 3 dB; that is no fault of a file."""


@dataclass(frozen=True, slots=True)
class Level:
    """Peak and root mean square in dB below full scale; None for digital silence."""

    peak_dbfs: float | None
    rms_dbfs: float | None


def bring_into_range(samples: Samples) -> tuple[Samples, str | None]:
    """Samples within [-1, 1], and a line for the user if the file was out of range.

    A recording beyond full scale is scaled down as a whole; single stray samples are clipped.
    The input is returned as it is when it lies within the range.
    """
    peak = _peak(samples)
    if peak <= 1.0:
        return samples, None
    over = sum(int(np.count_nonzero(np.abs(block) > 1.0)) for block in _blocks(samples))
    sounding = sum(int(np.count_nonzero(block)) for block in _blocks(samples))
    if over <= MAX_STRAY_SHARE * sounding:
        warning = f"{over} samples beyond full scale (peak {peak:.3g}) were clipped"
        scaled = np.clip(samples, -1.0, 1.0)
    else:
        warning = f"samples beyond full scale (peak {peak:.3g}); the recording was scaled down"
        scaled = samples * np.float32(1.0 / peak)
        np.clip(scaled, -1.0, 1.0, out=scaled)
    return scaled, warning if peak > USUAL_OVERSHOOT else None


def measure_level(samples: Samples) -> Level:
    """Level of the whole signal."""
    peak = _peak(samples)
    if peak == 0.0:
        return Level(None, None)
    power = sum(float(np.square(block, dtype=np.float64).sum()) for block in _blocks(samples))
    return Level(20 * math.log10(peak), 10 * math.log10(power / len(samples)))


def _peak(samples: Samples) -> float:
    return max((float(np.abs(block).max()) for block in _blocks(samples)), default=0.0)


def _blocks(samples: Samples) -> Iterator[Samples]:
    for start in range(0, len(samples), BLOCK_SAMPLES):
        yield samples[start : start + BLOCK_SAMPLES]
