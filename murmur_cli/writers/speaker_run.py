"""Neighbouring segments of one speaker, read as one text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from murmur_cli.types import Segment, TimeSpan, Word
from murmur_cli.writers.script import may_break_before


@dataclass(frozen=True, slots=True)
class SpeakerRun:
    """Words of consecutive segments of one speaker; never empty."""

    speaker: str | None
    words: tuple[Word, ...]

    @property
    def span(self) -> TimeSpan:
        """From the first word to the latest end."""
        return TimeSpan(self.words[0].span.start_s, max(word.span.end_s for word in self.words))


def speaker_runs(
    segments: Iterable[Segment], max_pause_s: float, max_run_s: float
) -> Iterator[SpeakerRun]:
    """Join segments while the speaker stays, pauses are short and the run has not grown long.

    `max_run_s` is a length after which the next segment starts a run of its own; a segment is
    never split here.
    """
    words: list[Word] = []
    speaker: str | None = None
    for segment in segments:
        if not segment.words:
            continue
        if words and (
            segment.speaker != speaker
            or segment.words[0].span.start_s - words[-1].span.end_s > max_pause_s
            or words[-1].span.end_s - words[0].span.start_s >= max_run_s
        ):
            yield SpeakerRun(speaker, tuple(words))
            words = []
        speaker = segment.speaker
        words.extend(_after(words, segment.words))
    if words:
        yield SpeakerRun(speaker, tuple(words))


def _after(words: list[Word], following: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words of the next segment, the first one spaced as its script wants it.

    A recogniser may leave out the space before the first word of a segment.
    """
    first = following[0]
    if not words or not words[-1].text or not first.text:
        return following
    space = first.space_before or not may_break_before(words[-1].text, first.text)
    return (replace(first, space_before=space), *following[1:])
