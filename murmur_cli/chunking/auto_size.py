"""How long a chunk may be, and why."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.settings import AUTO_CHUNK_S, FULL_CHUNK_S
from murmur_cli.timebase import SAMPLE_RATE_HZ, to_seconds
from murmur_cli.types.audio_kind import ChunkCurve


@dataclass(frozen=True, slots=True)
class ChunkCeiling:
    """Ceiling in samples and seconds, and one line on how it came about."""

    samples: int
    seconds: float
    rule: str


def choose_ceiling(
    max_chunk_s: float | None, audio_samples: int, curve: ChunkCurve | None = None
) -> ChunkCeiling:
    """The ceiling that was asked for; where `max_chunk_s` is None that of the curve, else by rule.

    The count of samples is rounded down, so that it is a true ceiling.
    """
    audio_s = to_seconds(audio_samples)
    if max_chunk_s is None and curve is not None:
        wanted_s = FULL_CHUNK_S if curve.chunk_s is None else curve.chunk_s
        samples = int(min(wanted_s * SAMPLE_RATE_HZ, max(1, audio_samples)))
        size = "the whole recording" if wanted_s >= FULL_CHUNK_S else f"at most {wanted_s:g} s"
        rule = f"auto: {size}, best for {curve.model} on {curve.kind} audio by '{curve.source}'"
        return ChunkCeiling(samples, min(wanted_s, max(audio_s, to_seconds(samples))), rule)
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
    if max_chunk_s >= FULL_CHUNK_S:
        return ChunkCeiling(samples, to_seconds(samples), "the whole recording, as set")
    return ChunkCeiling(samples, max_chunk_s, f"at most {max_chunk_s:g} s, as set")
