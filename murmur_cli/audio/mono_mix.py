"""Channels -> mono, without losing a voice on the way.

The mean of the channels is right for microphones of one room. It is wrong when a channel is
dead (it would halve the level of the live one) and when channels are in opposite phase (they
would cancel: of channels that are one signal the first is taken). Both are found by measuring
blocks of 0.1 s, before anything is mixed. No step holds the whole recording.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from murmur_cli.audio.block_power import Power, block_power
from murmur_cli.audio.channel_likeness import correlations, distinct_channels, products_of
from murmur_cli.audio.decoded import Channels
from murmur_cli.audio.spool import AudioSource, spool_through
from murmur_cli.types import Samples, SampleSource

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
    power = block_power(channels, range(count))
    live = live_channels(power)
    if len(live) == 1:
        return take_one(channels, live[0])
    if not live:
        return take_one(channels, 0)
    share = _cancelled_share(channels, live, power)
    if share <= MAX_CANCELLED_SHARE:
        return _mean_of(channels, live)
    line = f"channels are in opposite phase and cancel in {share:.0%} of the sound; took"
    if len(live) > 2:
        # Two that cancel must not cost the voices of a third.
        live = distinct_channels(correlations(products_of(channels)), live)
        if len(live) > 1 and _cancelled_share(channels, live, power) <= MAX_CANCELLED_SHARE:
            numbers = ", ".join(str(at + 1) for at in live)
            return replace(_mean_of(channels, live), warning=f"{line} channels {numbers}")
    mix = take_one(channels, max(live, key=lambda at: power[:, at].sum()))
    return replace(mix, warning=f"{line} {mix.how} alone")


def live_channels(power: Power) -> list[int]:
    """Channels that are not dead; none if all are silent."""
    peak_power = power.max(axis=0, initial=0.0)
    live: list[int] = np.flatnonzero(peak_power > DEAD_POWER_RATIO * peak_power.max()).tolist()
    return live


def _cancelled_share(channels: AudioSource, live: list[int], power: Power) -> float:
    mean_power = power[:, live].mean(axis=1)
    mixed_power = block_power(channels, live, mixed=True)[:, 0]
    cancelled = mixed_power < CANCELLED_POWER_RATIO * mean_power / len(live)
    return float(mean_power[cancelled].sum() / mean_power.sum())


def _mean_of(channels: AudioSource, chosen: list[int]) -> MonoMix:
    return MonoMix(spool_through(channels, lambda block: _mean(block, chosen)), "mean")


def _mean(channels: Channels, live: list[int]) -> Samples:
    total = channels[:, live[0]].copy()
    for index in live[1:]:
        total += channels[:, index]
    total /= np.float32(len(live))
    return total


def take_one(channels: AudioSource, index: int) -> MonoMix:
    """One of the channels as it is.

    Raises:
        NoRoomError: as `mix_to_mono`.
    """
    samples = spool_through(channels, lambda block: block[:, index].copy())
    return MonoMix(samples, _channel_name(index, channels.shape[1]))


def _channel_name(index: int, count: int) -> str:
    if count == 2:
        return ("left", "right")[index]
    return f"channel {index + 1}"
