"""Who speaks when in a recording, and who says its words: from the voices of its chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from murmur_cli.attribution.words_to_speakers import attribute
from murmur_cli.diarization.base import LocalDiarizer, told_turns
from murmur_cli.settings import TranscribeSettings
from murmur_cli.stitching.exclusive import exclusive_turns
from murmur_cli.stitching.known_voices import name_speakers
from murmur_cli.stitching.stitch import stitch
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    ChunkTranscript,
    Enrolment,
    KnownVoices,
    SampleSource,
    Segment,
    SpeakerHints,
    SpeakerTimeline,
)


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who speaks when; `enrolment` is None without known voices."""

    timeline: SpeakerTimeline
    enrolment: Enrolment | None


def diarize_chunk(
    diarizer: LocalDiarizer,
    samples: SampleSource,
    chunk: Chunk,
    heard: ChunkTranscript | None,
    hints: SpeakerHints,
    *,
    names_speakers: bool,
) -> ChunkDiarization:
    """Turns and voices of one chunk; the turns are the recogniser's where it tells them.

    Words of which a recogniser that names speakers does not say whose they are go by the voices.
    """
    told = told_turns(heard) if heard is not None else []
    if told or (names_speakers and heard is not None and not heard.segments):
        found = diarizer.voices(samples, chunk, told)
    else:
        found = diarizer.diarize(samples, chunk, hints=hints)
    return replace(found, channel=chunk.channel)


def speakers_of(
    chunks: Sequence[ChunkDiarization], settings: TranscribeSettings, known: KnownVoices | None
) -> Speakers:
    """The speakers of a recording, with the names of known voices."""
    timeline, enrolment = stitch(chunks, settings.hints), None
    if known is not None:
        threshold = settings.enroll_threshold
        timeline, matches = name_speakers(timeline, chunks, known.voices, threshold)
        enrolment = Enrolment(known, threshold, matches)
    turns = tuple(sorted(replace(turn, span=turn.span.in_whole_ms) for turn in timeline.turns))
    if settings.exclusive:
        turns = exclusive_turns(turns)
    return Speakers(replace(timeline, turns=turns), enrolment)


def segments_of(
    heard: Sequence[ChunkTranscript],
    groups: Sequence[Sequence[Chunk]],
    timeline: SpeakerTimeline | None,
    duration_s: float,
) -> tuple[Segment, ...]:
    """Who said what, in order of time, in whole milliseconds.

    Args:
        heard: of all chunks.
        groups: the chunks of each stream. Words of one stream follow each other; those of
            another may be spoken at the same time, by its own speakers.
    """
    found: list[Segment] = []
    for group in groups:
        own = {chunk.index for chunk in group}
        transcripts = [made for made in heard if made.chunk_index in own]
        found += attribute(transcripts, _of_chunks(timeline, own), duration_s)
    return tuple(sorted(map(_in_whole_ms, found), key=lambda one: one.span.start_s))


def _of_chunks(timeline: SpeakerTimeline | None, chunks: set[int]) -> SpeakerTimeline | None:
    """The part of the speakers that are heard in these chunks."""
    if timeline is None:
        return None
    decisions = tuple(one for one in timeline.decisions if one.chunk_index in chunks)
    if len(decisions) == len(timeline.decisions):
        return timeline
    own = {decision.speaker for decision in decisions}
    return SpeakerTimeline(
        tuple(turn for turn in timeline.turns if turn.speaker in own),
        tuple(name for name in timeline.speakers if name in own),
        decisions,
    )


def _in_whole_ms(segment: Segment) -> Segment:
    words = tuple(replace(word, span=word.span.in_whole_ms) for word in segment.words)
    return replace(segment, span=segment.span.in_whole_ms, words=words)
