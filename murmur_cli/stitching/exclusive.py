"""Turns of which no two overlap."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from murmur_cli.types import SpeakerTurn, TimeSpan


def exclusive_turns(turns: Sequence[SpeakerTurn]) -> tuple[SpeakerTurn, ...]:
    """The turns cut so that one speaker at most has each moment; the union stays the same.

    Where several talk, the shortest turn has it: so an interjection stays and parts the long
    turn around it, and nobody disappears. Equal lengths go by time, then by name.
    """
    taken: list[TimeSpan] = []
    kept: list[SpeakerTurn] = []
    for turn in sorted(turns, key=lambda turn: (round(turn.span.duration_s, 6), turn)):
        for free in _free_parts(turn.span, taken):
            kept.append(SpeakerTurn(free, turn.speaker))
            insort(taken, free)
    return tuple(sorted(kept))


def _free_parts(span: TimeSpan, taken: Sequence[TimeSpan]) -> list[TimeSpan]:
    """What of the span no other has; `taken` is in order and does not overlap."""
    parts: list[TimeSpan] = []
    start_s = span.start_s
    at = max(0, bisect_left(taken, span) - 1)
    while at < len(taken) and taken[at].start_s < span.end_s:
        if taken[at].end_s > start_s:
            if taken[at].start_s > start_s:
                parts.append(TimeSpan(start_s, taken[at].start_s))
            start_s = max(start_s, taken[at].end_s)
        at += 1
    if start_s < span.end_s:
        parts.append(TimeSpan(start_s, span.end_s))
    return parts
