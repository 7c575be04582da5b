"""Level of mono signals: bring it into full scale, and measure it, block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from murmur_cli.audio.spool import spool_through
from murmur_cli.types import Samples, SampleSource

BLOCK_SAMPLES = 1 << 20
"""Samples whose power is summed at once; fixed, so that the sum is the same however they lie."""

MAX_STRAY_SHARE = 1e-4
"""Over-range samples rarer than this are faults to clip, not a loud recording to scale."""

USUAL_OVERSHOOT = 1.5
"""Lossy codecs and resampling overshoot full scale by up to 3 dB; that is no fault of a file."""


@dataclass(frozen=True, slots=True)
class Level:
    """Peak and root mean square in dB below full scale; None for digital silence."""

    peak_dbfs: float | None
    rms_dbfs: float | None


def bring_into_range(samples: SampleSource) -> tuple[SampleSource, str | None]:
    """Samples within [-1, 1], and a line for the user if the file was out of range.

    A recording beyond full scale is scaled down as a whole; single stray samples are clipped.
    The input is returned as it is when it lies within the range.

    Raises:
        NoRoomError: the temporary file of a long recording cannot be made or written.
    """
    peak = _peak(samples)
    if peak <= 1.0:
        return samples, None
    over = sounding = 0
    for block in _blocks(samples):
        over += int(np.count_nonzero(np.abs(block) > 1.0))
        sounding += int(np.count_nonzero(block))
    if over <= MAX_STRAY_SHARE * sounding:
        warning = f"{over} samples beyond full scale (peak {peak:.3g}) were clipped"
        factor = np.float32(1.0)
    else:
        warning = f"samples beyond full scale (peak {peak:.3g}); the recording was scaled down"
        factor = np.float32(1.0 / peak)
    scaled = spool_through(samples, lambda block: np.clip(block * factor, -1.0, 1.0))
    return scaled, warning if peak > USUAL_OVERSHOOT else None


def measure_level(*streams: SampleSource) -> Level:
    """Level of whole signals: the greatest peak and their mean power."""
    peak = power = 0.0
    for samples in streams:
        for block in _blocks(samples):
            peak = max(peak, _block_peak(block))
            power += float(np.square(block, dtype=np.float64).sum())
    if peak == 0.0:
        return Level(None, None)
    mean_power = power / sum(len(samples) for samples in streams)
    return Level(20 * math.log10(peak), 10 * math.log10(mean_power))


def _peak(samples: SampleSource) -> float:
    return max((_block_peak(block) for block in _blocks(samples)), default=0.0)


def _block_peak(block: Samples) -> float:
    return float(np.abs(block).max())


def _blocks(samples: SampleSource) -> Iterator[Samples]:
    for start in range(0, len(samples), BLOCK_SAMPLES):
        yield samples[start : start + BLOCK_SAMPLES]
