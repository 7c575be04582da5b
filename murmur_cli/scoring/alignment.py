"""Words of reference and hypothesis side by side, under tcpWER's pairing of speakers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from murmur_cli.scoring.session_score import SessionScore
from murmur_cli.scoring.streams import SpokenWords, Stream, by_speaker
from murmur_cli.scoring.word_score import SpeakerScore


@dataclass(frozen=True, slots=True)
class AlignedWord:
    """A word of the reference and what stands for it: equal, another (substituted), or None on one
    side (left out, inserted)."""

    reference: str | None
    hypothesis: str | None

    @property
    def is_right(self) -> bool:
        """Whether both sides say the same."""
        return self.reference == self.hypothesis


@dataclass(frozen=True, slots=True)
class AlignedLine:
    """Neighbouring words of one pair of speakers; starts with an utterance of the reference, or
    holds insertions only. Times in seconds."""

    start_s: float
    end_s: float
    speaker: str | None
    found_speaker: str | None
    words: tuple[AlignedWord, ...]


def aligned_lines(session: SessionScore, collar_s: float) -> tuple[AlignedLine, ...]:
    """The session's lines in order of time; their wrong words are tcpWER's errors."""
    score = session.words.get("tcpwer")
    if score is None:
        return ()
    references, hypotheses = by_speaker(session.reference), by_speaker(session.hypothesis)
    lines = [
        line
        for pair in score.speakers
        for line in _lines(
            pair,
            references.get(pair.reference, ()) if pair.reference is not None else (),
            hypotheses.get(pair.hypothesis, ()) if pair.hypothesis is not None else (),
            collar_s,
        )
    ]
    return tuple(sorted(lines, key=lambda line: (line.start_s, line.end_s)))


def _lines(
    pair: SpeakerScore, reference: Stream, hypothesis: Stream, collar_s: float
) -> Iterator[AlignedLine]:
    """A line for each utterance of the reference; insertions follow the word before them, or make
    lines of their own where they come from an utterance that meets none of it."""
    words: list[AlignedWord] = []
    owner: SpokenWords | None = None
    for left, right in _aligned(reference, hypothesis, collar_s):
        of = reference[left["utterance"]] if left is not None else None
        if of is None and (owner is None or not _meets(hypothesis[right["utterance"]], owner)):
            of = hypothesis[right["utterance"]]
        if of is not None and of is not owner:
            if owner is not None:
                yield _line(pair, owner, words)
            owner, words = of, []
        words.append(
            AlignedWord(
                left["words"] if left is not None else None,
                right["words"] if right is not None else None,
            )
        )
    if owner is not None:
        yield _line(pair, owner, words)


def _meets(one: SpokenWords, other: SpokenWords) -> bool:
    return one.span.overlap_s(other.span) > 0


def _line(pair: SpeakerScore, owner: SpokenWords, words: list[AlignedWord]) -> AlignedLine:
    return AlignedLine(
        owner.span.start_s, owner.span.end_s, pair.reference, pair.hypothesis, tuple(words)
    )


def _aligned(reference: Stream, hypothesis: Stream, collar_s: float) -> Iterator[Any]:
    """Pairs of MeetEval's word segments, None where a side has no word."""
    from meeteval.io import SegLST
    from meeteval.wer.wer.time_constrained import align

    def segments(stream: Stream) -> Any:
        return SegLST(
            [
                {
                    "words": " ".join(one.words),
                    "start_time": one.span.start_s,
                    "end_time": one.span.end_s,
                    "utterance": at,
                }
                for at, one in enumerate(stream)
            ]
        )

    if reference and hypothesis:
        yield from align(segments(reference), segments(hypothesis), collar=collar_s, style="seglst")
        return
    for at, one in enumerate(reference):
        yield from (({"words": word, "utterance": at}, None) for word in one.words)
    for at, one in enumerate(hypothesis):
        yield from ((None, {"words": word, "utterance": at}) for word in one.words)
