"""A word without the silence at its ends."""

from __future__ import annotations

from murmur_cli.types import SampleSpan, TimeSpan


def within_speech(span: TimeSpan, speech: tuple[SampleSpan, ...]) -> TimeSpan:
    """The word without the silence at its ends.

    The alignment gives a word all frames up to the next token, pauses included. The part of
    the word in the first speech span that it shares most time with is kept; a word that meets
    no speech stays as it is.
    """
    best = max((part.time for part in speech), key=lambda part: part.overlap_s(span), default=None)
    if best is None or best.overlap_s(span) <= 0:
        return span
    return TimeSpan(max(span.start_s, best.start_s), min(span.end_s, best.end_s))
