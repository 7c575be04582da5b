"""Words of all chunks and turns of all speakers, joined: who said what, when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from murmur_cli.attribution.legal_times import legal_words, without_overlap
from murmur_cli.attribution.speaker_index import SpeakerIndex
from murmur_cli.attribution.word_speaker import word_speakers
from murmur_cli.punctuation import ends_sentence
from murmur_cli.types import ChunkTranscript, Flag, Segment, SpeakerTimeline, TimeSpan, Word

MAX_PAUSE_S = 1.0
"""A longer pause ends a segment: within a sentence speakers seldom pause for so long, and scorers
and readers take the time of a segment for time of speech."""


@dataclass(frozen=True, slots=True)
class _Placed:
    """A word with what its segment said.

    `opens` where the recogniser began a segment, `may_end` where it ended one with a sentence.
    """

    word: Word
    source: Segment
    opens: bool
    may_end: bool
    flags: frozenset[Flag]


def attribute(
    chunks: Sequence[ChunkTranscript], timeline: SpeakerTimeline | None, duration_s: float
) -> tuple[Segment, ...]:
    """Segments of one speaker each, in time order, holding every word once.

    The words, their order and their starts do not depend on the timeline; without one (None) or
    without turns every speaker is None. Words of a recogniser that says who speaks keep what it
    said; others go by time. A segment ends where the speaker, the chunk or the
    language changes, at a pause longer than `MAX_PAUSE_S`, and where the recogniser ended a
    segment with a sentence. Times are legal (see `legal_times`); a word whose time had to be
    moved into the recording marks its segment `TIME_OUT_OF_RANGE`.
    """
    placed = _placed(chunks, duration_s)
    speakers: list[str | None] = [None] * len(placed)
    if timeline is not None and timeline.turns:
        spans = [item.word.span for item in placed]
        opens = [item.opens for item in placed]
        named = _named_by_recogniser(placed, timeline)
        by_time = word_speakers(spans, opens, SpeakerIndex(timeline.turns))
        speakers = [told or found for told, found in zip(named, by_time, strict=True)]
    words = without_overlap(
        [
            replace(item.word, speaker=speaker)
            for item, speaker in zip(placed, speakers, strict=True)
        ]
    )
    settled = [replace(item, word=word) for item, word in zip(placed, words, strict=True)]
    return tuple(map(_segment, _groups(settled)))


def _named_by_recogniser(placed: Sequence[_Placed], timeline: SpeakerTimeline) -> list[str | None]:
    """The global speaker of each word whose recogniser said who speaks."""
    label = {
        (decision.chunk_index, decision.local_speaker): decision.speaker
        for decision in timeline.decisions
    }
    return [
        None
        if item.source.local_speaker is None
        else label.get((item.source.chunk_index, item.source.local_speaker))
        for item in placed
    ]


def _placed(chunks: Sequence[ChunkTranscript], duration_s: float) -> list[_Placed]:
    sources = [
        segment
        for chunk in sorted(chunks, key=lambda chunk: chunk.chunk_index)
        for segment in sorted(chunk.segments, key=lambda segment: segment.span.start_s)
    ]
    owners = [(source, at) for source in sources for at in range(len(source.words))]
    legal = legal_words([source.words[at] for source, at in owners], duration_s)
    return [
        _Placed(
            item.word,
            source,
            opens=at == 0,
            may_end=at == len(source.words) - 1 and ends_sentence(item.word.text),
            flags=frozenset(source.flags)
            | ({Flag.TIME_OUT_OF_RANGE} if item.out_of_range else frozenset()),
        )
        for (source, at), item in zip(owners, legal, strict=True)
    ]


def _groups(placed: Sequence[_Placed]) -> Iterator[list[_Placed]]:
    group: list[_Placed] = []
    for item in placed:
        if group and _is_cut(group[-1], item):
            yield group
            group = []
        group.append(item)
    if group:
        yield group


def _is_cut(left: _Placed, right: _Placed) -> bool:
    return (
        left.may_end
        or left.word.speaker != right.word.speaker
        or left.source.chunk_index != right.source.chunk_index
        or left.source.language != right.source.language
        or right.word.span.start_s - left.word.span.end_s > MAX_PAUSE_S
    )


def _segment(group: Sequence[_Placed]) -> Segment:
    words = tuple(item.word for item in group)
    flags = frozenset[Flag]().union(*(item.flags for item in group))
    return Segment(
        span=TimeSpan(words[0].span.start_s, max(word.span.end_s for word in words)),
        words=words,
        chunk_index=group[0].source.chunk_index,
        language=group[0].source.language,
        speaker=words[0].speaker,
        flags=tuple(flag for flag in Flag if flag in flags),
    )
