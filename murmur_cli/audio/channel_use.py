"""Whether the channels of a file are one recording or hold different people.

Microphones of one room hear every voice about equally loud, and a copied channel is equal sample
by sample. Where each person has a channel (a telephone call, headsets), now one channel and now
another is far louder than the others; and where people talk at once, what their channels hold has
nothing in common.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.block_power import (
    BLOCK_SAMPLES,
    BLOCKS_AT_ONCE,
    Power,
    block_power,
    decibels,
)
from murmur_cli.audio.channel_likeness import correlations, distinct_channels, products_of
from murmur_cli.audio.mono_mix import live_channels
from murmur_cli.audio.probe import MIN_PROBES, frame_level_db, probe_places, similarities
from murmur_cli.audio.spool import AudioSource
from murmur_cli.timebase import SAMPLE_RATE_HZ

LEAD_DB = 6.0
"""By so much a channel must be louder than all others where its person talks alone."""

USUAL_QUANTILE = 0.99
"""The usual level of a channel is that of its loudest blocks: some people say little."""

LOUD_RANGE_DB = 30.0
"""Below the usual level by more than this is a pause."""

MAX_WEAKER_DB = 30.0
"""A channel whose usual level lies further below the loudest holds noise or bleed only."""

MIN_LEAD_SHARE, MIN_LEAD_S = 0.04, 0.8
"""A person talks alone for at least this share of the sound and this long in all."""

SHARED_CORRELATION, MAX_SHARED_SHARE = 0.7, 0.1
"""At most this share of the sound may be a common source: alike in two channels, none far
louder."""

BOTH_LOUD_RANGE_DB = 20.0

UNRELATED_SIMILARITY = 0.15
"""Of channels that have nothing in common, three quarters of the places where both are loud are
less similar than this at any delay: .05 to .15 for two people who talk at once; .2 to .8 for two
microphones of a room, even one that rings for 0.8 s."""

COMMON_SIMILARITY = 0.3
"""Where two channels are about equally loud, half of the places of a voice that both microphones
hear are more similar than this at some delay."""

MOST_CHANNELS = 16
"""Files with more are mixed: nobody gives so many people a channel each."""


@dataclass(frozen=True, slots=True)
class ChannelUse:
    """What the channels of a file are to each other; indices count from 0.

    live: those that are not dead. distinct: those of them that are no copy of an earlier one.
    correlation: the least similar two of the live ones, without sign. talkers: the distinct
    ones that hold a person of their own; fewer than two, or none, if they do not.
    """

    live: tuple[int, ...]
    distinct: tuple[int, ...]
    correlation: float
    talkers: tuple[int, ...]

    @property
    def are_alike(self) -> bool:
        """Whether several channels are one signal."""
        return len(self.live) > 1 and len(self.distinct) == 1


def channel_use(channels: AudioSource) -> ChannelUse:
    """What the channels of (samples, channels) are; reads the audio in blocks."""
    count = channels.shape[1]
    power = block_power(channels, range(count))
    live = live_channels(power)
    correlation = correlations(products_of(channels))
    distinct = distinct_channels(correlation, live)
    use = ChannelUse(tuple(live), tuple(distinct), _least(correlation, live), ())
    if len(distinct) < 2 or count > MOST_CHANNELS:
        return use
    usual_db = decibels(np.quantile(power, USUAL_QUANTILE, axis=0))
    strong = [at for at in distinct if usual_db[at] >= usual_db[live].max() - MAX_WEAKER_DB]
    if len(strong) < 2:
        return use
    talkers = _talkers(power, _shared(channels, strong), strong, usual_db)
    level_db = frame_level_db(channels) - usual_db
    if talkers and _hear_a_common_voice(channels, talkers, level_db):
        talkers = ()
    elif not talkers and _are_unrelated(channels, strong, level_db):
        talkers = tuple(strong)
    return replace(use, talkers=talkers)


def _talkers(
    power: Power, shared: npt.NDArray[np.float64], strong: list[int], usual_db: Power
) -> tuple[int, ...]:
    """Channels that hold a person of their own, by who is far louder when."""
    # Levels of different microphones compare after their gains are taken out.
    level_db = decibels(power[:, strong]) - usual_db[strong]
    order = np.sort(level_db, axis=1)
    loud = order[:, -1] >= -LOUD_RANGE_DB
    if not loud.any():
        return ()
    leads = loud & (order[:, -1] - order[:, -2] >= LEAD_DB)
    common = loud & ~leads & (shared >= SHARED_CORRELATION)
    if common.sum() > MAX_SHARED_SHARE * loud.sum():
        return ()
    least = max(MIN_LEAD_SHARE * loud.sum(), MIN_LEAD_S * SAMPLE_RATE_HZ / BLOCK_SAMPLES)
    first = level_db.argmax(axis=1)
    found = [at for n, at in enumerate(strong) if (leads & (first == n)).sum() >= least]
    return tuple(found) if len(found) > 1 else ()


def _hear_a_common_voice(channels: AudioSource, talkers: tuple[int, ...], level_db: Power) -> bool:
    """Whether two of the channels often hear one sound about equally loud, as the microphones at
    the ends of a table hear who sits in the middle."""
    loud = level_db >= -BOTH_LOUD_RANGE_DB
    for one, other in combinations(talkers, 2):
        near = np.abs(level_db[:, one] - level_db[:, other]) < LEAD_DB
        near &= loud[:, one] & loud[:, other]
        if near.sum() > MAX_SHARED_SHARE * (loud[:, one] | loud[:, other]).sum():
            places = probe_places(near, least_share=0.5)
            similar = similarities(channels, places, one, other)
            if len(places) >= MIN_PROBES and np.median(similar) >= COMMON_SIMILARITY:
                return True
    return False


def _are_unrelated(channels: AudioSource, strong: list[int], level_db: Power) -> bool:
    """Whether no two of the channels have anything in common where both are loud."""
    loud = level_db >= -BOTH_LOUD_RANGE_DB
    for one, other in combinations(strong, 2):
        places = probe_places(loud[:, one] & loud[:, other], least_share=0.6)
        if len(places) < MIN_PROBES:
            return False
        if np.quantile(similarities(channels, places, one, other), 0.75) >= UNRELATED_SIMILARITY:
            return False
    return True


def _least(correlation: Power, live: list[int]) -> float:
    return float(correlation[np.ix_(live, live)].min()) if len(live) > 1 else 1.0


def _shared(channels: AudioSource, chosen: list[int]) -> npt.NDArray[np.float64]:
    """Similarity of the two loudest of the chosen channels in each block: (blocks,)."""
    shared: list[float] = []
    for start in range(0, len(channels), BLOCK_SAMPLES * BLOCKS_AT_ONCE):
        part = channels[start : start + BLOCK_SAMPLES * BLOCKS_AT_ONCE][:, chosen]
        for block in np.split(
            part.astype(np.float64), range(BLOCK_SAMPLES, len(part), BLOCK_SAMPLES)
        ):
            shared.append(_similarity(block - block.mean(axis=0)))
    return np.array(shared)


def _similarity(block: Power) -> float:
    """Correlation of the two loudest channels, without sign; 0 where one is silent."""
    energy = np.einsum("ij,ij->j", block, block)
    one, other = np.argsort(energy)[-2:]
    scale = float(np.sqrt(energy[one] * energy[other]))
    return abs(float(block[:, one] @ block[:, other])) / scale if scale > 0.0 else 0.0
