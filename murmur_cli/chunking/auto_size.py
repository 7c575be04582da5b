"""How long a chunk may be, and why."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.settings import AUTO_CHUNK_S
from murmur_cli.timebase import SAMPLE_RATE_HZ, to_seconds


@dataclass(frozen=True, slots=True)
class ChunkCeiling:
    """Ceiling in samples and seconds, and one line on how it came about."""

    samples: int
    seconds: float
    rule: str


def choose_ceiling(max_chunk_s: float | None, audio_samples: int) -> ChunkCeiling:
    """The ceiling that was asked for, or by rule where `max_chunk_s` is None.

    The count of samples is rounded down, so that it is a true ceiling.
    """
    audio_s = to_seconds(audio_samples)
    if max_chunk_s is None and audio_s <= AUTO_CHUNK_S:
        samples = max(1, audio_samples)
        rule = f"auto: the whole recording of {audio_s:.0f} s, not longer than {AUTO_CHUNK_S:.0f} s"
        return ChunkCeiling(samples, to_seconds(samples), rule)
    if max_chunk_s is None:
        rule = (
            f"auto: at most {AUTO_CHUNK_S:.0f} s, the published optimum;"
            f" the recording has {audio_s:.0f} s"
        )
        return ChunkCeiling(int(AUTO_CHUNK_S * SAMPLE_RATE_HZ), AUTO_CHUNK_S, rule)
    # The recording bounds it too, which makes an infinite ceiling a number.
    samples = int(min(max_chunk_s * SAMPLE_RATE_HZ, max(1, audio_samples)))
    assert samples > 0, max_chunk_s
    return ChunkCeiling(samples, max_chunk_s, f"at most {max_chunk_s:g} s, as set")
