"""Bleed: what a channel holds of the people of another channel, found and left out.

A headset also hears who sits beside it, and a telephone line its own echo. Such a copy would be
transcribed twice. It is found where a channel is much louder than another and the other follows
its waveform; the copy's level is measured there, and where a channel is no louder than the copy
would be, it is set to 0. Where its own person talks over the copy, it stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.block_power import Power, decibels
from murmur_cli.audio.probe import (
    FRAME_S,
    FRAME_SAMPLES,
    MIN_PROBES,
    PROBE_FRAMES,
    probe_places,
    similarities,
)
from murmur_cli.audio.spool import BLOCK_SAMPLES, AudioSource, Spool
from murmur_cli.types import SampleSource

LOUD_RANGE_DB = 20.0
LEAD_DB = 6.0
"""A place is probed where the one channel is loud and the other so much weaker."""

COPY_SIMILARITY = 0.25
"""A quarter of the places of a copy are at least this similar. Measured with real voices: .3 to .9
in rooms that ring for 0.3 to 0.6 s, with both people talking all the time; of voices that have
nothing in common .02 to .1."""

ABOVE_COPY_DB = 6.0
"""Up to so much above the copy's usual level is still copy."""

ABOVE_NOISE_DB = 6.0

HOLD_S = (0.06, 0.2)
"""A copy starts before the frames show it, and rings after it."""

MIN_OWN_S = 0.06
OWN_MARGIN_S = 0.15
MIN_MASK_S = 0.4
"""Shorter own sounds are flutter of the level; own speech keeps a margin; shorter masks would
only chop."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Channel `target` holds channel `source`, `gain_db` weaker; indices count from 0."""

    source: int
    target: int
    gain_db: float


def find_copies(channels: AudioSource, level_db: Power, chosen: Sequence[int]) -> tuple[Copy, ...]:
    """Which of the chosen channels hold which others; `level_db` is `frame_level_db` of all."""
    found = []
    for source in chosen:
        for target in chosen:
            if source != target:
                gain_db = _copy_gain_db(channels, level_db, source, target)
                if gain_db is not None:
                    found.append(Copy(source, target, gain_db))
    return tuple(found)


def without_copies(
    channels: AudioSource, level_db: Power, target: int, copies: Sequence[Copy]
) -> SampleSource:
    """A channel with silence where it holds no more than copies of others.

    Raises:
        NoRoomError: the temporary file of a long recording cannot be made or written.
    """
    keep = ~_masked(level_db, target, copies)
    gain = keep.astype(np.float32)
    middles = np.arange(len(gain)) * FRAME_SAMPLES + FRAME_SAMPLES / 2
    spool = Spool()
    for start in range(0, len(channels), BLOCK_SAMPLES):
        block = channels[start : start + BLOCK_SAMPLES][:, target]
        places = np.arange(start, start + len(block))
        spool.append((block * np.interp(places, middles, gain)).astype(np.float32))
    return spool.finish()


def _copy_gain_db(channels: AudioSource, level_db: Power, source: int, target: int) -> float | None:
    """Level of the copy beside its source; None if the target holds none."""
    loud_db = np.quantile(level_db[:, source], 0.95) - LOUD_RANGE_DB
    loud = level_db[:, source] >= loud_db
    leads = loud & (level_db[:, source] - level_db[:, target] >= LEAD_DB)
    places = probe_places(leads, least_share=0.75)
    if len(places) < MIN_PROBES:
        return None
    similar = similarities(channels, places, source, target)
    if np.quantile(similar, 0.75) < COPY_SIMILARITY:
        return None
    weaker = [
        _difference_db(level_db, place, source, target)
        for place in places[similar >= COPY_SIMILARITY].tolist()
    ]
    # Where the target's own person talks as well, the difference is smaller than the copy's.
    return float(np.quantile(weaker, 0.25))


def _difference_db(level_db: Power, place: int, source: int, target: int) -> float:
    frames = slice(place * PROBE_FRAMES, (place + 1) * PROBE_FRAMES)
    power = (10 ** (level_db[frames][:, [target, source]] / 10)).mean(axis=0)
    levels = decibels(power)
    return float(levels[0] - levels[1])


def _masked(level_db: Power, target: int, copies: Sequence[Copy]) -> npt.NDArray[np.bool_]:
    """Frames in which the target is no louder than the copies it holds."""
    own = np.ones(len(level_db), dtype=np.bool_)
    noise_db = np.quantile(level_db[:, target], 0.1)
    for copy in copies:
        if copy.target == target:
            held_db = _held(level_db[:, copy.source])
            own &= level_db[:, target] > held_db + copy.gain_db + ABOVE_COPY_DB
            # While the other talks, the channel's noise is nobody's own speech.
            talks = held_db >= np.quantile(level_db[:, copy.source], 0.95) - LOUD_RANGE_DB
            own &= ~talks | (level_db[:, target] > noise_db + ABOVE_NOISE_DB)
    own = _without_short_runs(own, MIN_OWN_S)
    margin = round(OWN_MARGIN_S / FRAME_S)
    spread = np.convolve(own, np.ones(2 * margin + 1), mode="same") > 0
    return _without_short_runs(~spread, MIN_MASK_S)


def _held(level_db: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The greatest level from shortly after each frame back to some time before it."""
    after, before = (round(seconds / FRAME_S) for seconds in HOLD_S)
    padded = np.pad(level_db, (before, after), constant_values=-200.0)
    windows = np.lib.stride_tricks.sliding_window_view(padded, before + after + 1)
    held: npt.NDArray[np.float64] = windows.max(axis=1)
    return held


def _without_short_runs(row: npt.NDArray[np.bool_], least_s: float) -> npt.NDArray[np.bool_]:
    """The row without runs of True that are shorter than this."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(np.int8)))
    cleaned = row.copy()
    for start, end in edges.reshape(-1, 2).tolist():
        if (end - start) * FRAME_S < least_s:
            cleaned[start:end] = False
    return cleaned
