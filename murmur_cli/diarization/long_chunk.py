"""A chunk too long to be diarized at once, in parts that stitching joins.

Grouping pieces of speech compares each with each, and features and samples are held whole, so a
chunk of ten hours would need tens of gigabytes. In parts of half an hour memory has a bound and
time grows with the length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from murmur_cli.diarization.base import hints_for_chunk
from murmur_cli.timebase import to_samples
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    LocalSpeaker,
    LocalTurn,
    SampleSpan,
    SpeakerHints,
    Window,
)

MAX_PART_S = 1800.0
"""Longest part: about 1,500 pieces of speech (20 MB for each table of pairs)."""

CUT_REACH_S = 30.0
"""How far from its even place a cut may move to a silence."""


def diarize_in_parts(
    chunk: Chunk, hints: SpeakerHints, diarize: Callable[[Chunk, SpeakerHints], ChunkDiarization]
) -> ChunkDiarization:
    """The turns and voices of a chunk, from its parts; see `LocalSpeaker.part`.

    A person who talks in two parts is two local speakers: who joins the voices of chunks joins
    those of parts.

    Args:
        diarize: one part; a chunk of at most `MAX_PART_S` is passed on as it is.
    """
    parts = parts_of(chunk)
    if len(parts) == 1:
        return diarize(chunk, hints)
    hints = hints_for_chunk(hints, len(parts))
    turns: list[LocalTurn] = []
    speakers: list[LocalSpeaker] = []
    for number, part in enumerate(parts):
        first = len(speakers)
        made = diarize(part, hints)
        turns += [replace(turn, local_speaker=turn.local_speaker + first) for turn in made.turns]
        speakers += [
            replace(speaker, local_speaker=speaker.local_speaker + first, part=number)
            for speaker in made.speakers
        ]
    return ChunkDiarization(chunk.index, tuple(sorted(turns)), tuple(speakers))


def parts_of(chunk: Chunk, max_part_s: float = MAX_PART_S) -> list[Chunk]:
    """The chunk in about equal parts, cut in the longest silences near; those without speech are
    left out."""
    count = -(-chunk.span.length // to_samples(max_part_s))
    if count <= 1:
        return [chunk]
    ends = [chunk.span.start + chunk.span.length * number // count for number in range(1, count)]
    bounds = [chunk.span.start, *(_silence_near(chunk.speech, end) for end in ends)]
    spans = [
        SampleSpan(start, end)
        for start, end in zip(bounds, [*bounds[1:], chunk.span.end], strict=True)
    ]
    return [
        Chunk(chunk.index, span, (Window(span, speech, (span,)),))
        for span in spans
        if (speech := _inside(chunk.speech, span))
    ]


def _silence_near(speech: Sequence[SampleSpan], at: int) -> int:
    """Middle of the longest silence within reach; the place itself if there is none."""
    reach = to_samples(CUT_REACH_S)
    gaps = [
        (min(right.start, at + reach) - max(left.end, at - reach), left.end, right.start)
        for left, right in pairwise(speech)
        if left.end < at + reach and right.start > at - reach and left.end < right.start
    ]
    if not gaps:
        return at
    _, start, end = max(gaps)
    return min(max((start + end) // 2, at - reach), at + reach)


def _inside(speech: Sequence[SampleSpan], span: SampleSpan) -> tuple[SampleSpan, ...]:
    return tuple(
        SampleSpan(max(one.start, span.start), min(one.end, span.end))
        for one in speech
        if one.start < span.end and one.end > span.start
    )
