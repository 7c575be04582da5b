"""Channels -> mono, without losing a voice on the way.

The mean of the channels is right for microphones of one room. It is wrong when a channel is
dead (it would halve the level of the live one) and when channels are in opposite phase (they
would cancel); both are found by measuring blocks of 0.1 s, before anything is mixed. No step
holds the whole recording.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.decoded import Channels
from murmur_cli.audio.spool import AudioSource, spool_through
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Samples, SampleSource

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

    samples: SampleSource
    how: str
    warning: str | None = None


def mix_to_mono(channels: AudioSource) -> MonoMix:
    """One signal from (samples, channels); for one channel a view, not a copy.

    Raises:
        NoRoomError: the temporary file of a long recording cannot be made or written.
    """
    count = channels.shape[1]
    if count == 1:
        return MonoMix(channels.ravel(), "mono")
    power = _block_power(channels, range(count))
    peak_power = power.max(axis=0, initial=0.0)
    live = np.flatnonzero(peak_power > DEAD_POWER_RATIO * peak_power.max()).tolist()
    if len(live) == 1:
        return _take_one(channels, live[0])
    if not live:
        return _take_one(channels, 0)
    share = _cancelled_share(channels, live, power)
    if share > MAX_CANCELLED_SHARE:
        mix = _take_one(channels, int(np.argmax(power.sum(axis=0))))
        warning = (
            f"channels are in opposite phase and cancel in {share:.0%} of the sound;"
            f" took {mix.how} alone"
        )
        return replace(mix, warning=warning)
    return MonoMix(spool_through(channels, lambda block: _mean(block, live)), "mean")


def _cancelled_share(
    channels: AudioSource, live: list[int], power: npt.NDArray[np.float64]
) -> float:
    mean_power = power[:, live].mean(axis=1)
    mixed_power = _block_power(channels, live, mixed=True)[:, 0]
    cancelled = mixed_power < CANCELLED_POWER_RATIO * mean_power / len(live)
    return float(mean_power[cancelled].sum() / mean_power.sum())


def _block_power(
    channels: AudioSource, chosen: list[int] | range, *, mixed: bool = False
) -> npt.NDArray[np.float64]:
    """Mean square of each block: (blocks, chosen channels), or (blocks, 1) of their mean."""
    rows: list[npt.NDArray[np.float64]] = []
    step = BLOCK_SAMPLES * BLOCKS_AT_ONCE
    for start in range(0, len(channels), step):
        part = channels[start : start + step][:, list(chosen)].astype(np.float64)
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


def _take_one(channels: AudioSource, index: int) -> MonoMix:
    samples = spool_through(channels, lambda block: block[:, index].copy())
    return MonoMix(samples, _channel_name(index, channels.shape[1]))


def _channel_name(index: int, count: int) -> str:
    if count == 2:
        return ("left", "right")[index]
    return f"channel {index + 1}"
