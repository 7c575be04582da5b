"""Audio made from nothing but a seed, for measuring where no recording is at hand."""

from __future__ import annotations

import numpy as np

from murmur_cli.timebase import SAMPLE_RATE_HZ, to_samples
from murmur_cli.types import Samples

KNOTS_PER_S = 4


def synthetic_audio(duration_s: float, seed: int = 0) -> Samples:
    """A tone whose pitch and loudness wander, with some noise: float32, 16 kHz, within ±1.

    The time of a step does not depend on what is said, so it need not be speech.
    """
    random = np.random.default_rng(seed)
    count = to_samples(duration_s)
    num_knots = max(2, round(duration_s * KNOTS_PER_S))
    at, knots = np.arange(count), np.linspace(0, count, num_knots)
    pitch_hz = np.interp(at, knots, random.uniform(80, 3000, num_knots))
    loudness = np.interp(at, knots, random.uniform(0.02, 0.6, num_knots))
    tone = loudness * np.sin(2 * np.pi * np.cumsum(pitch_hz) / SAMPLE_RATE_HZ)
    return (tone + 0.01 * random.standard_normal(count)).astype(np.float32)
