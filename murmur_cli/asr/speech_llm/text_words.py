"""Words of a text, and a time for each where the model gives none."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from murmur_cli.punctuation import belongs_to_word_before
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import SampleSpan, TimeSpan, Word
from murmur_cli.unspaced import is_unspaced

MIN_SPEECH_S = 0.1
"""Less detected speech than this in a span is no place for words."""


@dataclass(frozen=True, slots=True)
class TextWord:
    """A word without outer spaces, and whether a space precedes it."""

    text: str
    space_before: bool


def split_text(text: str) -> tuple[TextWord, ...]:
    """Words of a text; every visible character is in exactly one.

    Spaces part words, but punctuation with a space before it, as French sets it, stays with the
    word before. Where a script sets no spaces, each character that can stand alone is a word;
    marks and punctuation stay with the character before them.
    """
    words: list[TextWord] = []
    for piece in text.split():
        if words and belongs_to_word_before(piece):
            words[-1] = TextWord(words[-1].text + piece, words[-1].space_before)
            continue
        for number, part in enumerate(_parts(piece)):
            words.append(TextWord(part, space_before=number == 0 and bool(words)))
    return tuple(words)


def _parts(piece: str) -> Iterator[str]:
    start = 0
    for at in range(1, len(piece)):
        before, char = piece[at - 1], piece[at]
        if char.isalnum() and (is_unspaced(char) or is_unspaced(before)):
            yield piece[start:at]
            start = at
    yield piece[start:]


def spread_words(
    text: str, span: TimeSpan, speech: Sequence[SampleSpan], probability: float | None
) -> tuple[Word, ...]:
    """Words spread over the speech within a span, each as long as its letters are many.

    A word that would reach over a pause lies on the side that has more of it. With next to no
    speech in the span the words are spread over the whole of it.

    speech: detected speech in samples of the recording.
    """
    words = split_text(text)
    parts = sorted(part for part in (_common(span, each) for each in speech) if part is not None)
    if sum(part.duration_s for part in parts) < MIN_SPEECH_S:
        parts = [span]
    passed_s = list(accumulate((part.duration_s for part in parts), initial=0.0))
    letters = list(accumulate((len(word.text) for word in words), initial=0))
    edges_s = [passed_s[-1] * said / max(1, letters[-1]) for said in letters]
    return tuple(
        Word(word.text, _placed(parts, passed_s, edge), word.space_before, probability)
        for word, edge in zip(words, pairwise(edges_s), strict=True)
    )


def _placed(
    parts: Sequence[TimeSpan], passed_s: Sequence[float], edges_s: tuple[float, float]
) -> TimeSpan:
    """Edges counted in the parts' joined time -> time, within the part that has most of it.

    passed_s: joined time before each part, then that of all.
    """
    start_s, end_s = edges_s
    first = min(max(0, bisect_right(passed_s, start_s) - 1), len(parts) - 1)
    last = min(max(first, bisect_left(passed_s, end_s) - 1), len(parts) - 1)
    inside = (
        TimeSpan(part.start_s + low_s, part.start_s + max(low_s, high_s))
        for part, before_s in zip(parts[first : last + 1], passed_s[first:], strict=False)
        for low_s in [min(max(start_s - before_s, 0.0), part.duration_s)]
        for high_s in [min(end_s - before_s, part.duration_s)]
    )
    return max(inside, key=lambda span: span.duration_s)


def _common(span: TimeSpan, speech: SampleSpan) -> TimeSpan | None:
    start_s = max(span.start_s, speech.start / SAMPLE_RATE_HZ)
    end_s = min(span.end_s, speech.end / SAMPLE_RATE_HZ)
    return TimeSpan(start_s, end_s) if start_s < end_s else None
