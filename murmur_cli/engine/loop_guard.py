"""When a row has stopped saying anything new: thresholds, and the watch over one row.

Ids only. Repetitions are found in time that does not grow with the output: a watch keeps, for
each period, how long the tail has repeated itself (`repeat_runs.py`), and how much of it was
copied from just before, with changes (`copy_run.py`). What the guard cuts is decoded again from
there with fresh context, so words that really are repeated come back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from murmur_cli.engine.copy_run import CopyRun
from murmur_cli.engine.repeat_runs import RepeatRuns
from murmur_cli.engine.request import Loop, LoopKind


@dataclass(frozen=True, slots=True)
class LoopGuard:
    """Thresholds.

    Same period: a period of 1 to `max_period` tokens that recurs often enough, and over enough
    tokens, that speech is unlikely to hold it: people do say a word five times. Changed copies:
    each occurrence extends or alters the one before ("number 1", "number 2", …). Ceiling: more
    tokens than speech of that length can be.

    Attributes:
        max_period: longest repeated stretch looked for, in tokens.
        min_repeats: occurrences in a row, the first included.
        min_tokens: tokens that the occurrences must span together.
        min_long_repeats: occurrences that suffice for a period of `long_period` tokens or more.
        long_period: a stretch of this length is a sentence; it rarely recurs by chance.
        min_copied: how far copied tokens must outweigh new ones, see `CopyRun`.
        max_copy_distance: how far back a token counts as copied.
        max_tokens_per_s: output tokens for each second of audio, None for no ceiling. Each
            backend has its own.
        free_tokens: tokens on top of these, for the frame of a short output.
    """

    max_period: int = 64
    min_repeats: int = 8
    min_tokens: int = 24
    min_long_repeats: int = 4
    long_period: int = 8
    min_copied: int = 48
    max_copy_distance: int = 128
    max_tokens_per_s: float | None = None
    free_tokens: int = 32

    def watch(self, audio_s: float) -> LoopWatch:
        """A watch over one row that hears so many seconds."""
        return LoopWatch(self, audio_s)

    def repeats_needed(self, period: int) -> int:
        """Occurrences in a row, the first included."""
        repeats = self.min_long_repeats if period >= self.long_period else self.min_repeats
        return max(repeats, math.ceil(self.min_tokens / period))


@dataclass(slots=True)
class LoopWatch:
    """Sees the tokens of one row as they are decoded."""

    guard: LoopGuard
    audio_s: float
    _places: list[int] = field(default_factory=list)
    _seen: int = 0
    _repeats: RepeatRuns = field(init=False)
    _copies: CopyRun = field(init=False)

    def __post_init__(self) -> None:
        guard = self.guard
        self._repeats = RepeatRuns(guard.max_period, guard.repeats_needed)
        self._copies = CopyRun(guard.max_copy_distance, guard.min_copied, guard.repeats_needed)

    def see(self, token: int, counts: Callable[[int], bool]) -> Loop | None:
        """Note the next token; the repetition that it completes, None if there is none.

        `counts` says whether a token is text; others (timestamps) are skipped, as they change
        while the text repeats. The result's indices count all tokens.
        """
        place = self._seen
        self._seen += 1
        if not counts(token):
            return None
        self._places.append(place)
        repeat = self._repeats.see(token)
        copy = self._copies.see(token)
        if repeat is not None:
            return self._loop(*repeat, LoopKind.PERIOD)
        if copy is not None:
            return self._loop(*copy, LoopKind.GROWING)
        return None

    def _loop(self, start: int, period: int, repeats: int, kind: LoopKind) -> Loop:
        first, second = self._places[start], self._places[start + period]
        return Loop(first, second - first, repeats, kind)

    @property
    def is_past_ceiling(self) -> bool:
        """Whether the row has more tokens than its seconds of audio can hold."""
        rate = self.guard.max_tokens_per_s
        return rate is not None and self._seen > self.guard.free_tokens + rate * self.audio_s
