"""Audio of one request: pieces of the recording, and the speech in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import SampleSpan

MIN_HALF_S = 20.0
"""Least speech of a half: a stretch of less than two of them is not divided."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Audio to ask about. `tries` counts answers that did not get on in it."""

    pieces: tuple[SampleSpan, ...]
    speech: tuple[SampleSpan, ...]
    tries: int = 0

    @property
    def speech_s(self) -> float:
        """Seconds of its speech."""
        return seconds(self.speech)

    def between(self, start: int, end: int) -> Stretch:
        """The part from one sample of the recording to another, never tried."""
        return Stretch(_clipped(self.pieces, start, end), _clipped(self.speech, start, end))

    def halves(self) -> tuple[Stretch, Stretch] | None:
        """Two parts, cut in the silence nearest to the middle; None where none will do."""
        first, last = self.pieces[0].start, self.pieces[-1].end
        silences = [(left.end + right.start) // 2 for left, right in pairwise(self.speech)]
        pairs = [(self.between(first, cut), self.between(cut, last)) for cut in silences]
        fair = [
            (before, after)
            for before, after in pairs
            if min(before.speech_s, after.speech_s) >= MIN_HALF_S
        ]
        if not fair:
            return None
        return min(fair, key=lambda pair: abs(pair[0].speech_s - pair[1].speech_s))


def seconds(spans: Sequence[SampleSpan]) -> float:
    """Length of spans together."""
    return sum(span.length for span in spans) / SAMPLE_RATE_HZ


def _clipped(spans: Sequence[SampleSpan], start: int, end: int) -> tuple[SampleSpan, ...]:
    return tuple(
        SampleSpan(max(span.start, start), min(span.end, end))
        for span in spans
        if span.end > start and span.start < end
    )
