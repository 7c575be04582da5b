"""Channels -> mono, without losing a voice on the way.

The mean of the channels is right for microphones of one room. It is wrong when a channel is
dead (it would halve the level of the live one) and when channels are in opposite phase (they
would cancel); both are found by measuring blocks of 0.1 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.decoded import Channels
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Samples

BLOCK_SAMPLES = SAMPLE_RATE_HZ // 10
BLOCKS_AT_ONCE = 600

DEAD_POWER_RATIO = 1e-5
"""A channel whose loudest block lies 50 dB under that of the loudest channel is dead."""

CANCELLED_POWER_RATIO = 0.1
"""Unrelated channels keep 1/n of their power in the mean of n; a block that keeps less than a
tenth of that cancels."""

MAX_CANCELLED_SHARE = 0.02
"""Most power, as a share, that may lie in blocks that cancel."""


@dataclass(frozen=True, slots=True)
class MonoMix:
    """Mono signal; `how` is AudioFacts.mix, `warning` a plain line or None."""

    samples: Samples
    how: str
    warning: str | None = None


def mix_to_mono(channels: Channels) -> MonoMix:
    """One signal from (samples, channels); for one channel a view, not a copy."""
    count = channels.shape[1]
    if count == 1:
        return MonoMix(channels[:, 0], "mono")
    power = _block_power(channels, range(count))
    peak_power = power.max(axis=0, initial=0.0)
    live = np.flatnonzero(peak_power > DEAD_POWER_RATIO * peak_power.max()).tolist()
    if len(live) == 1:
        return MonoMix(_one(channels, live[0]), _channel_name(live[0], count))
    if not live:
        return MonoMix(_one(channels, 0), _channel_name(0, count))
    share = _cancelled_share(channels, live, power)
    if share > MAX_CANCELLED_SHARE:
        loudest = int(np.argmax(power.sum(axis=0)))
        name = _channel_name(loudest, count)
        return MonoMix(
            _one(channels, loudest),
            name,
            f"channels are in opposite phase and cancel in {share:.0%} of the sound;"
            f" took {name} alone",
        )
    return MonoMix(_mean(channels, live), "mean")


def _cancelled_share(channels: Channels, live: list[int], power: npt.NDArray[np.float64]) -> float:
    mean_power = power[:, live].mean(axis=1)
    mixed_power = _block_power(channels, live, mixed=True)[:, 0]
    cancelled = mixed_power < CANCELLED_POWER_RATIO * mean_power / len(live)
    return float(mean_power[cancelled].sum() / mean_power.sum())


def _block_power(
    channels: Channels, chosen: list[int] | range, *, mixed: bool = False
) -> npt.NDArray[np.float64]:
    """Mean square of each block: (blocks, chosen channels), or (blocks, 1) of their mean."""
    rows: list[npt.NDArray[np.float64]] = []
    step = BLOCK_SAMPLES * BLOCKS_AT_ONCE
    for start in range(0, len(channels), step):
        part = channels[start : start + step, list(chosen)].astype(np.float64)
        if mixed:
            part = part.mean(axis=1, keepdims=True)
        np.square(part, out=part)
        firsts = np.arange(0, len(part), BLOCK_SAMPLES)
        lengths = np.diff(np.append(firsts, len(part)))
        rows.append(np.add.reduceat(part, firsts, axis=0) / lengths[:, None])
    return np.concatenate(rows) if rows else np.zeros((0, 1 if mixed else len(chosen)))


def _mean(channels: Channels, live: list[int]) -> Samples:
    total = channels[:, live[0]].copy()
    for index in live[1:]:
        total += channels[:, index]
    total /= np.float32(len(live))
    return total


def _one(channels: Channels, index: int) -> Samples:
    return np.ascontiguousarray(channels[:, index])


def _channel_name(index: int, count: int) -> str:
    if count == 2:
        return ("left", "right")[index]
    return f"channel {index + 1}"
