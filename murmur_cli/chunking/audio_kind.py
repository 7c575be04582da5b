"""Clean or noisy: level of speech over the pauses, and how much people talk at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import LocalTurn, SampleSource, SampleSpan
from murmur_cli.types.audio_kind import AudioKind

NOISY_BELOW_DB = 15.0
"""Speech this far above the pauses and more is clean: by ear noise is then a background."""

NOISY_FROM_OVERLAP = 0.1
"""Share of speech time in which several talk that is no longer an exception."""

BLOCK_SAMPLES = SAMPLE_RATE_HZ // 10
BLOCKS_AT_ONCE = 600
LEAST_PAUSE_BLOCKS = 10
QUIETEST_SHARE = 0.05
"""Of all blocks; their mean is the noise where there are no pauses to measure it in."""

MOST_DB = 100.0
"""Of pauses that are digital silence."""


def kind_of(speech_to_noise_db: float, overlap_share: float) -> AudioKind:
    """Noisy below 15 dB, or if several talk in a tenth of the speech time."""
    is_noisy = speech_to_noise_db < NOISY_BELOW_DB or overlap_share >= NOISY_FROM_OVERLAP
    return AudioKind.NOISY if is_noisy else AudioKind.CLEAN


def speech_to_noise_db(samples: SampleSource, speech: Sequence[SampleSpan]) -> float:
    """Power of speech over that of the pauses, in dB, at most 100.

    Blocks of 0.1 s count as speech or pause if they are so throughout. What is heard in pauses is
    taken away from the speech. With less than a second of pauses the quietest twentieth of all
    blocks stands for them.

    samples: (samples,) float32, 16 kHz. speech: in order, at least one span.
    """
    power, spoken = _blocks(samples, speech)
    if not spoken.any():
        return MOST_DB
    pauses = ~_touched(speech, len(power))
    if pauses.sum() >= LEAST_PAUSE_BLOCKS:
        noise = float(power[pauses].mean())
    else:
        count = max(1, round(QUIETEST_SHARE * len(power)))
        noise = float(np.sort(power)[:count].mean())
    voice = float(power[spoken].mean()) - noise
    if noise <= 0.0:
        return MOST_DB
    if voice <= 0.0:
        return -MOST_DB
    return min(MOST_DB, 10 * math.log10(voice / noise))


def overlap_share(turns: Sequence[LocalTurn]) -> float:
    """Share of the time in which somebody talks that several do; 0.0 if nobody talks."""
    edges = sorted(
        [(turn.span.start_s, 1) for turn in turns] + [(turn.span.end_s, -1) for turn in turns]
    )
    talked_s = overlapped_s = 0.0
    talking, since_s = 0, 0.0
    for time_s, change in edges:
        talked_s += (time_s - since_s) * (talking > 0)
        overlapped_s += (time_s - since_s) * (talking > 1)
        talking, since_s = talking + change, time_s
    return overlapped_s / talked_s if talked_s else 0.0


def _blocks(
    samples: SampleSource, speech: Sequence[SampleSpan]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Mean square of each whole block, and whether all of it is speech."""
    count = len(samples) // BLOCK_SAMPLES
    power = np.zeros(count)
    for first in range(0, count, BLOCKS_AT_ONCE):
        last = min(count, first + BLOCKS_AT_ONCE)
        part = samples[first * BLOCK_SAMPLES : last * BLOCK_SAMPLES].astype(np.float64)
        power[first:last] = np.square(part).reshape(last - first, BLOCK_SAMPLES).mean(axis=1)
    spoken = np.zeros(count, dtype=bool)
    for span in speech:
        spoken[-(-span.start // BLOCK_SAMPLES) : span.end // BLOCK_SAMPLES] = True
    return power, spoken


def _touched(speech: Sequence[SampleSpan], count: int) -> npt.NDArray[np.bool_]:
    """Blocks with any speech in them, or beside one: voices die away."""
    touched = np.zeros(count, dtype=bool)
    for span in speech:
        touched[max(0, span.start // BLOCK_SAMPLES - 1) : -(-span.end // BLOCK_SAMPLES) + 1] = True
    return touched
