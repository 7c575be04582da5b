"""Two people in two channels. The voices are made up: noise in syllables, each of its own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

RATE_HZ = 16_000
SYLLABLE_SAMPLES = RATE_HZ // 5

Mono = npt.NDArray[np.float32]


def babble(seconds: float, seed: int, peak: float = 0.3) -> Mono:
    """Noise that rises and falls five times a second, some syllables left out."""
    random = np.random.default_rng(seed)
    length = round(seconds * RATE_HZ)
    syllables = -(-length // SYLLABLE_SAMPLES)
    loudness = random.uniform(0.4, 1.0, syllables) * (random.random(syllables) < 0.85)
    rise = np.sin(np.pi * np.arange(SYLLABLE_SAMPLES) / SYLLABLE_SAMPLES)
    envelope = (loudness[:, None] * rise).ravel()[:length]
    sound: Mono = (peak * envelope * np.clip(random.standard_normal(length) / 3, -1, 1)).astype(
        np.float32
    )
    return sound


def in_turns(one: Mono, other: Mono, turn_s: float) -> tuple[Mono, Mono]:
    """The two one after the other in turns of equal length, the first first."""
    length = min(len(one), len(other))
    second = (np.arange(length) // round(turn_s * RATE_HZ)) % 2 == 1
    quiet = np.float32(0)
    return np.where(second, quiet, one[:length]), np.where(second, other[:length], quiet)


def with_bleed(one: Mono, other: Mono, bleed_db: float, noise_db: float = -65.0) -> Mono:
    """(samples, 2): each in its channel, the other weaker and 2 ms later, and some noise."""
    gain, delay = 10 ** (bleed_db / 20), 32
    noise = 10 ** (noise_db / 20) * np.random.default_rng(0).standard_normal((len(one), 2))
    heard = np.stack([one + gain * _late(other, delay), other + gain * _late(one, delay)], axis=1)
    both: Mono = (heard + noise).astype(np.float32)
    return both


def _late(sound: Mono, delay: int) -> Mono:
    return np.concatenate([np.zeros(delay, np.float32), sound[: len(sound) - delay]])
