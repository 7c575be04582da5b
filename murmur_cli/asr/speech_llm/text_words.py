"""Words of a text, and a time for each where the model gives none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import SampleSpan, TimeSpan, Word
from murmur_cli.unspaced import is_unspaced


@dataclass(frozen=True, slots=True)
class TextWord:
    """A word without outer spaces, and whether a space precedes it."""

    text: str
    space_before: bool


def split_text(text: str) -> tuple[TextWord, ...]:
    """Words of a text; every visible character is in exactly one.

    Spaces part words. Where a script sets none, each character that can stand alone is a word;
    marks and punctuation stay with the character before them.
    """
    words: list[TextWord] = []
    for piece in text.split():
        for number, part in enumerate(_parts(piece)):
            words.append(TextWord(part, space_before=number == 0 and bool(words)))
    return tuple(words)


def _parts(piece: str) -> Iterator[str]:
    start = 0
    for at in range(1, len(piece)):
        before, char = piece[at - 1], piece[at]
        if (is_unspaced(char) and char.isalnum()) or (is_unspaced(before) and char.isalnum()):
            yield piece[start:at]
            start = at
    if piece:
        yield piece[start:]


def spread_words(
    text: str, span: TimeSpan, speech: Sequence[SampleSpan], probability: float | None
) -> tuple[Word, ...]:
    """Words spread over the speech within a span, each as long as its letters are many.

    speech: detected speech in samples of the recording. Without any in the span the words are
    spread over the whole of it.
    """
    words = split_text(text)
    parts = [part for part in (_common(span, each) for each in speech) if part is not None]
    clock = _SpeechClock(parts or [span])
    total = sum(len(word.text) for word in words)
    timed, said = [], 0
    for word in words:
        start_s = clock.at(said / total, is_end=False)
        said += len(word.text)
        end_s = clock.at(said / total, is_end=True)
        timed.append(
            Word(word.text, TimeSpan(start_s, max(start_s, end_s)), word.space_before, probability)
        )
    return tuple(timed)


class _SpeechClock:
    """Share of the speech that has passed -> time in the recording."""

    def __init__(self, parts: Sequence[TimeSpan]) -> None:
        self._parts = sorted(parts)
        self._total_s = sum(part.duration_s for part in self._parts)

    def at(self, share: float, *, is_end: bool) -> float:
        """Time in seconds; at a pause an end lies before it, a start after it."""
        left_s = share * self._total_s
        for part in self._parts[:-1]:
            if left_s < part.duration_s or (is_end and left_s <= part.duration_s):
                return part.start_s + left_s
            left_s -= part.duration_s
        last = self._parts[-1]
        return min(last.start_s + max(0.0, left_s), last.end_s)


def _common(span: TimeSpan, speech: SampleSpan) -> TimeSpan | None:
    start_s = max(span.start_s, speech.start / SAMPLE_RATE_HZ)
    end_s = min(span.end_s, speech.end / SAMPLE_RATE_HZ)
    return TimeSpan(start_s, end_s) if start_s < end_s else None
