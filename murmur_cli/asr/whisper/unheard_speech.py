"""Speech that no word accounts for: what the model skipped between two words."""

from __future__ import annotations

from collections.abc import Iterable

from murmur_cli.timebase import to_samples
from murmur_cli.types import SampleSpan, TimeSpan, Word

BASE_WORD_S = 0.6
CHARACTER_S = 0.15
"""A slow speaker needs about this for a word and for each of its characters. The alignment lets
a word last until the next one, so a long word of few characters hides skipped speech."""

PAUSE_S = 0.5
"""Detected speech this close to a word is its breath or a filler, not skipped words."""

MIN_UNHEARD_S = 3.0
"""Shorter stretches without words are laughter, hesitation or noise more often than speech."""


def unheard_speech(
    speech: Iterable[SampleSpan], words: Iterable[Word], known: Iterable[TimeSpan] = ()
) -> tuple[SampleSpan, ...]:
    """Stretches of detected speech, at least `MIN_UNHEARD_S` long, away from every word.

    `known` (seconds of the recording) is speech already on record as not transcribed.
    """
    pause, shortest = to_samples(PAUSE_S), to_samples(MIN_UNHEARD_S)
    covered = [
        (to_samples(word.span.start_s) - pause, to_samples(_spoken_until_s(word)) + pause)
        for word in words
    ]
    covered.extend((to_samples(span.start_s), to_samples(span.end_s)) for span in known)
    covered.sort()
    unheard = []
    for span in speech:
        start = span.start
        for word_start, word_end in covered:
            if word_end <= start:
                continue
            if word_start >= span.end:
                break
            if word_start - start >= shortest:
                unheard.append(SampleSpan(start, word_start))
            start = max(start, word_end)
        if span.end - start >= shortest:
            unheard.append(SampleSpan(start, span.end))
    return tuple(unheard)


def _spoken_until_s(word: Word) -> float:
    longest_s = BASE_WORD_S + CHARACTER_S * len(word.text)
    return min(word.span.end_s, word.span.start_s + longest_s)
