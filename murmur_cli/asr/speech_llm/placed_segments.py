"""Times of an answer's segments that can be believed, and the speech they account for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.asr.speech_llm.family import SpokenSegment
from murmur_cli.asr.speech_llm.stretch import Stretch
from murmur_cli.asr.window_time import WindowTime
from murmur_cli.types import SampleSpan

TIME_SLACK_S = 0.2
"""A time this far past the audio is rounding: models hear in steps of up to 0.13 s."""

MIN_SEGMENT_S = 0.1
"""A segment without a length gets this one, for the words and the turn to lie somewhere."""

BASE_S = 5.0
CHARACTER_S = 1.0
"""No text accounts for more audio than this and so much for each character, many times what
speech takes: a segment of few words and a far end hides skipped speech."""


@dataclass(frozen=True, slots=True)
class PlacedSegment:
    """A segment from `start_s` to `end_s` of the audio that was asked about.

    `is_moved`: the model gave another time, which cannot be.
    """

    spoken: SpokenSegment
    start_s: float
    end_s: float
    is_moved: bool

    @property
    def accounted_s(self) -> float:
        """Where the audio ends that it accounts for; an event's text is no measure."""
        if self.spoken.is_event:
            return self.end_s
        return min(self.end_s, self.start_s + BASE_S + CHARACTER_S * len(self.spoken.text))


def place_segments(
    segments: Sequence[SpokenSegment], duration_s: float, *, is_cut: bool
) -> tuple[tuple[PlacedSegment, ...], tuple[SpokenSegment, ...]]:
    """Segments with times within the audio; then those that have none.

    A start that is missing or outside is the end of the segment before; an end that is missing,
    outside or before its start is the next start. After the last segment that is the end of the
    audio, but if the output was cut off nobody knows, and the segment is not placed.

    is_cut: the output did not end by itself.
    """
    placed: list[PlacedSegment] = []
    adrift: list[SpokenSegment] = []
    before_s = 0.0
    for at, spoken in enumerate(segments):
        given_s = _within(spoken.start_s, duration_s)
        start_s = before_s if given_s is None else given_s
        end_s = _within(spoken.end_s, duration_s)
        if end_s is None or end_s < start_s:
            end_s = _next_start_s(segments[at + 1 :], start_s, duration_s)
            if end_s is None and is_cut:
                adrift.append(spoken)
                continue
            end_s = duration_s if end_s is None else end_s
        is_moved = _is_other(spoken.start_s, start_s) or _is_other(spoken.end_s, end_s)
        last_s = min(duration_s, max(end_s, start_s + MIN_SEGMENT_S))
        first_s = max(0.0, min(start_s, last_s - MIN_SEGMENT_S))
        placed.append(PlacedSegment(spoken, first_s, last_s, is_moved))
        before_s = end_s
    return tuple(placed), tuple(adrift)


def unanswered(
    stretch: Stretch, placed: Sequence[PlacedSegment]
) -> tuple[tuple[Stretch, ...], Stretch]:
    """What no segment accounts for: the gaps before and between them, and the rest after all."""
    time = WindowTime(stretch.pieces)
    accounted = sorted(
        SampleSpan(
            time.to_sample(one.start_s),
            max(time.to_sample(one.start_s), time.to_sample(one.accounted_s, is_end=True)),
        )
        for one in placed
    )
    gaps, reached = [], stretch.pieces[0].start
    for span in accounted:
        if span.start > reached:
            gaps.append(stretch.between(reached, span.start))
        reached = max(reached, span.end)
    return tuple(gaps), stretch.between(reached, stretch.pieces[-1].end)


def _within(time_s: float | None, duration_s: float) -> float | None:
    """A time in the audio; None if it is missing or outside."""
    if time_s is None or not 0.0 <= time_s <= duration_s + TIME_SLACK_S:
        return None
    return min(time_s, duration_s)


def _next_start_s(
    later: Sequence[SpokenSegment], start_s: float, duration_s: float
) -> float | None:
    """The next start, not before `start_s`; None if there is none."""
    starts_s = (_within(spoken.start_s, duration_s) for spoken in later)
    return next((each for each in starts_s if each is not None and each >= start_s), None)


def _is_other(given_s: float | None, placed_s: float) -> bool:
    return given_s is not None and abs(given_s - placed_s) > TIME_SLACK_S
