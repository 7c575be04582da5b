"""Finds a repetition at the end of the output while it is being decoded.

Ids only. A repetition is a period of 1 to `max_period` tokens that recurs often enough, and
over enough tokens, that speech is unlikely to hold it: people do say a word five times. What
the guard cuts is decoded again from there with fresh context, so words that really are
repeated come back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from murmur_cli.engine.request import Loop


@dataclass(frozen=True, slots=True)
class LoopGuard:
    """Thresholds of the guard.

    Attributes:
        max_period: longest repeated stretch looked for, in tokens.
        min_repeats: occurrences in a row, the first included.
        min_tokens: tokens that the occurrences must span together.
        min_long_repeats: occurrences that suffice for a period of `long_period` tokens or more.
        long_period: a stretch of this length is a sentence; it rarely recurs by chance.
        check_every: the output is looked at when its length is a multiple of this.
    """

    max_period: int = 64
    min_repeats: int = 8
    min_tokens: int = 24
    min_long_repeats: int = 4
    long_period: int = 8
    check_every: int = 4

    def find(self, tokens: Sequence[int], counts: Callable[[int], bool]) -> Loop | None:
        """The repetition at the end of `tokens`, None if there is none.

        `counts` says whether a token is text; others (timestamps) are skipped, as they change
        while the text repeats. The result's indices count all tokens.
        """
        if len(tokens) < self.min_tokens or len(tokens) % self.check_every:
            return None
        places = [index for index, token in enumerate(tokens) if counts(token)]
        text = [tokens[index] for index in places]
        for period in range(1, min(self.max_period, len(text) // 2) + 1):
            matched = _matching_tail(text, period)
            repeats = matched // period + 1
            needed = self.min_long_repeats if period >= self.long_period else self.min_repeats
            if repeats >= needed and repeats * period >= self.min_tokens:
                start = len(text) - period - matched
                # Whole occurrences only: the tail may have begun inside one.
                return Loop(places[start], places[start + period] - places[start], repeats)
        return None


def _matching_tail(text: Sequence[int], period: int) -> int:
    """Longest run at the end where each token equals the one `period` before it."""
    matched = 0
    index = len(text) - 1
    while index - period >= 0 and text[index] == text[index - period]:
        matched += 1
        index -= 1
    return matched
