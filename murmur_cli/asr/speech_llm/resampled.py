"""Audio at the rate of a model's encoder."""

from __future__ import annotations

import math

import numpy as np

from murmur_cli.types import Samples


def resampled(audio: Samples, from_hz: int, to_hz: int) -> Samples:
    """Audio (samples,) float32 at another rate; ceil(samples * to / from) samples.

    A polyphase filter (scipy's `resample_poly`, Kaiser window, beta 5).
    """
    if from_hz == to_hz:
        return audio
    from scipy.signal import resample_poly

    common = math.gcd(from_hz, to_hz)
    result = resample_poly(audio, to_hz // common, from_hz // common)
    return np.ascontiguousarray(result, dtype=np.float32)
