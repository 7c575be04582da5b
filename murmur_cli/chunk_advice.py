"""The size of chunks that a sweep found best for this model and this kind of audio."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.chunking.audio_kind import kind_of, overlap_share, speech_to_noise_db
from murmur_cli.diarization.base import LocalDiarizer
from murmur_cli.timebase import to_samples
from murmur_cli.types import Chunk, LocalTurn, SampleSource, SampleSpan, Window
from murmur_cli.types.audio_kind import AudioKind, ChunkCurve

STRETCH_S = 10.0
MOST_STRETCHES = 6
"""Overlap is measured on stretches spread over the speech: a minute tells tenths apart."""


def measured_kind(
    samples: SampleSource, speech: Sequence[SampleSpan], diarizer: LocalDiarizer | None
) -> AudioKind:
    """Clean or noisy; without a diarizer by the level alone.

    samples: (samples,) float32, 16 kHz. speech: in order, at least one span.
    """
    turns: list[LocalTurn] = []
    if diarizer is not None:
        for index, span in enumerate(stretches(speech, len(samples))):
            heard = tuple(_inside(speech, span))
            chunk = Chunk(index, span, (Window(span, heard, (span,)),))
            turns += diarizer.diarize(samples, chunk).turns
    return kind_of(speech_to_noise_db(samples, speech), overlap_share(turns))


def advised(curves: Sequence[ChunkCurve], kind: AudioKind) -> ChunkCurve | None:
    """The first curve for that kind of audio; they are all of the model in use."""
    return next((one for one in curves if one.kind is kind), None)


def stretches(speech: Sequence[SampleSpan], length: int) -> tuple[SampleSpan, ...]:
    """At most six stretches of ten seconds around evenly spread moments of the speech; apart or
    touching, in order. `length` is that of the recording in samples."""
    width = to_samples(STRETCH_S)
    total = sum(span.length for span in speech)
    count = max(1, min(MOST_STRETCHES, total // width))
    found: list[SampleSpan] = []
    for number in range(count):
        middle = _moment(speech, total * (2 * number + 1) // (2 * count))
        start = max(0, middle - width // 2, found[-1].end if found else 0)
        end = min(length, start + width)
        if start < end:
            found.append(SampleSpan(start, end))
    return tuple(span for span in found if any(_inside(speech, span)))


def _moment(speech: Sequence[SampleSpan], spoken: int) -> int:
    """The sample before which `spoken` samples of speech lie."""
    for span in speech:
        if spoken < span.length:
            return span.start + spoken
        spoken -= span.length
    return speech[-1].end


def _inside(speech: Sequence[SampleSpan], span: SampleSpan) -> list[SampleSpan]:
    return [
        SampleSpan(max(one.start, span.start), min(one.end, span.end))
        for one in speech
        if one.start < span.end and span.start < one.end
    ]
