"""The only place where seconds, samples and frames are converted.

Inside the stages time is counted in integer samples at `SAMPLE_RATE_HZ`; seconds appear at
the edges. Rounding is half up: a tie must not depend on the parity of the result.
"""

import math

SAMPLE_RATE_HZ = 16_000
"""Rate at which every stage sees the audio."""


def round_half_up(value: float) -> int:
    """Nearest integer, ties towards +infinity."""
    return math.floor(value + 0.5)


def to_samples(seconds: float, rate_hz: int = SAMPLE_RATE_HZ) -> int:
    """Samples nearest to a time in seconds."""
    return round_half_up(seconds * rate_hz)


def to_seconds(samples: int, rate_hz: int = SAMPLE_RATE_HZ) -> float:
    """Time in seconds of a sample index."""
    return samples / rate_hz


def to_milliseconds(seconds: float) -> int:
    """Whole milliseconds nearest to a time in seconds.

    The tie at half a millisecond is decided on a value cleaned of binary noise: 0.0005 and
    1.0005 both round up.
    """
    return round_half_up(round(seconds * 1000, 6))
