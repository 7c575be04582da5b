"""Two channels compared at places of a recording, whatever the delay between them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.block_power import Power, decibels, mean_of_blocks
from murmur_cli.audio.spool import AudioSource
from murmur_cli.timebase import SAMPLE_RATE_HZ

FRAME_SAMPLES = SAMPLE_RATE_HZ // 50
FRAME_S = FRAME_SAMPLES / SAMPLE_RATE_HZ

PROBE_FRAMES = 16
"""Audio compared at once, 0.32 s: long enough that two people do not agree by chance."""

MAX_PROBES = 200
"""Places that are compared, spread over the recording."""

MIN_PROBES = 4

MAX_DELAY_SAMPLES = SAMPLE_RATE_HZ // 20
"""From one microphone to the other, or of an echo: 50 ms."""

_FRAMES_AT_ONCE = 1024


def frame_level_db(channels: AudioSource) -> Power:
    """Level of frames of 20 ms: (frames, channels)."""
    rows = [np.zeros((0, channels.shape[1]))]
    for start in range(0, len(channels), FRAME_SAMPLES * _FRAMES_AT_ONCE):
        part = channels[start : start + FRAME_SAMPLES * _FRAMES_AT_ONCE].astype(np.float64)
        part -= part.mean(axis=0)
        rows.append(mean_of_blocks(part * part, FRAME_SAMPLES))
    return decibels(np.concatenate(rows))


def probe_places(frames: npt.NDArray[np.bool_], least_share: float) -> npt.NDArray[np.int64]:
    """Places, counted in probes, with at least this share of the frames; not all of many."""
    whole = len(frames) // PROBE_FRAMES
    share = frames[: whole * PROBE_FRAMES].reshape(whole, PROBE_FRAMES).mean(axis=1)
    places = np.flatnonzero(share >= least_share)
    if len(places) <= MAX_PROBES:
        return places
    chosen: npt.NDArray[np.int64] = places[
        np.linspace(0, len(places) - 1, MAX_PROBES).astype(np.int64)
    ]
    return chosen


def similarities(
    channels: AudioSource, places: npt.NDArray[np.int64], one: int, other: int
) -> npt.NDArray[np.float64]:
    """Greatest correlation of two channels at each place, at any delay up to the longest."""
    return np.array([_similarity(channels, int(place), one, other) for place in places])


def _similarity(channels: AudioSource, place: int, one: int, other: int) -> float:
    first = place * PROBE_FRAMES * FRAME_SAMPLES
    part = channels[first : first + PROBE_FRAMES * FRAME_SAMPLES].astype(np.float64)
    # Differences: low notes of voices, which agree by chance, count less.
    left, right = np.diff(part[:, one]), np.diff(part[:, other])
    size = len(left) + 2 * MAX_DELAY_SAMPLES
    product = np.fft.rfft(left, size).conj() * np.fft.rfft(right, size)
    correlation = np.fft.irfft(product, size)
    within = np.append(correlation[: MAX_DELAY_SAMPLES + 1], correlation[-MAX_DELAY_SAMPLES:])
    scale = float(np.linalg.norm(left) * np.linalg.norm(right))
    return float(np.abs(within).max()) / scale if scale > 0.0 else 0.0
