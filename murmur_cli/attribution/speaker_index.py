"""Who speaks how long in a stretch of time: turns, ready to be asked."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from murmur_cli.types import SpeakerTurn, TimeSpan


class SpeakerIndex:
    """Turns by speaker, merged and sorted, so that a question costs a bisection per speaker."""

    def __init__(self, turns: Iterable[SpeakerTurn]) -> None:
        by_speaker: dict[str, list[TimeSpan]] = {}
        for turn in sorted(turns):
            by_speaker.setdefault(turn.speaker, []).append(turn.span)
        self._voices = {name: _Voice(spans) for name, spans in sorted(by_speaker.items())}

    def overlaps_s(self, span: TimeSpan) -> dict[str, float]:
        """Seconds that each speaker talks inside the span; those who do not are left out."""
        overlaps = {name: voice.overlap_s(span) for name, voice in self._voices.items()}
        return {name: overlap_s for name, overlap_s in overlaps.items() if overlap_s > 0}

    def gaps_s(self, span: TimeSpan) -> dict[str, float]:
        """Seconds from the span to the nearest turn of each speaker."""
        return {name: voice.gap_s(span) for name, voice in self._voices.items()}


class _Voice:
    """Turns of one speaker as disjoint spans in order."""

    def __init__(self, spans: list[TimeSpan]) -> None:
        self._starts_s: list[float] = []
        self._ends_s: list[float] = []
        for span in spans:
            if self._ends_s and span.start_s <= self._ends_s[-1]:
                self._ends_s[-1] = max(self._ends_s[-1], span.end_s)
            else:
                self._starts_s.append(span.start_s)
                self._ends_s.append(span.end_s)

    def overlap_s(self, span: TimeSpan) -> float:
        first = bisect_right(self._ends_s, span.start_s)
        last = bisect_left(self._starts_s, span.end_s)
        if first >= last:
            return 0.0
        return sum(
            min(end_s, span.end_s) - max(start_s, span.start_s)
            for start_s, end_s in zip(
                self._starts_s[first:last], self._ends_s[first:last], strict=True
            )
        )

    def gap_s(self, span: TimeSpan) -> float:
        after = bisect_left(self._starts_s, span.end_s)
        before_s = max(0.0, span.start_s - self._ends_s[after - 1]) if after else float("inf")
        if after == len(self._starts_s):
            return before_s
        return min(before_s, self._starts_s[after] - span.end_s)
