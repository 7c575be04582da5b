"""Whisper's output tokens -> stretches of text with the times that the model gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.asr.whisper.tokens import WhisperTokens


@dataclass(frozen=True, slots=True)
class TimedText:
    """Text tokens at `places` of the output, between two times of the window.

    `end_s` is None when the model did not close the stretch.
    """

    start_s: float
    end_s: float | None
    places: tuple[int, ...]


def split_by_timestamps(output: Sequence[int], tokens: WhisperTokens) -> tuple[TimedText, ...]:
    """Stretches with text, in order. Text before any time starts where the last one ended."""
    stretches: list[TimedText] = []
    start_s, places = 0.0, []
    for place, token in enumerate(output):
        if not tokens.is_timestamp(token):
            places.append(place)
            continue
        time_s = tokens.seconds(token)
        if places:
            stretches.append(TimedText(start_s, max(time_s, start_s), tuple(places)))
            places = []
        start_s = time_s
    if places:
        stretches.append(TimedText(start_s, None, tuple(places)))
    return tuple(stretches)
