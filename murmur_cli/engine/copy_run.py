"""A tail that is copied, with changes, from just before itself.

A decoder that has lost the audio does not always repeat itself exactly: it counts up inside the
same sentence, changes one word each time, or adds one ("a", "a b", "a b c"). Then most tokens
still follow the token that they followed one occurrence earlier.

The test is a cumulative sum (E. S. Page, Continuous inspection schemes, Biometrika 41, 1954): a
copied token adds one, a new one takes `NEW_COST` away, and the sum starts anew at zero. It grows
only while more than two tokens of three are copied, so a list that is read out ("page 1, page
2, …": two of three) never reaches a threshold, and a phrase of p tokens with one changed each
time does after threshold / (1 - 3 / p) tokens.
"""

from __future__ import annotations

from collections.abc import Callable

NEW_COST = 2
"""What a new token weighs against copied ones."""

DRIFT = (0, 1, -1)
"""Changes of the distance to the copied occurrence that are tried first: a phrase that has
gained or lost a token. Otherwise the place where the last two tokens last followed each other."""


class CopyRun:
    """The cumulative sum over one sequence. Constant time for each token."""

    def __init__(
        self, max_distance: int, min_copied: int, repeats_needed: Callable[[int], int]
    ) -> None:
        self._max_distance = max_distance
        self._min_copied = min_copied
        self._repeats_needed = repeats_needed
        self._tokens: list[int] = []
        self._pairs: dict[tuple[int, int], int] = {}
        self._distance = 0
        self._sum = 0
        self._start = self._first_distance = 0
        self._next_end = self._repeats = 0

    def see(self, token: int) -> tuple[int, int, int] | None:
        """Note the next token; (start, period, repeats) while the sum is past the threshold.

        `start` is where the first occurrence begins, `period` its length, `repeats` the number
        of whole occurrences, the first included.
        """
        place = len(self._tokens)
        distance = self._copied_from(token)
        self._tokens.append(token)
        if place:
            self._pairs[self._tokens[-2], token] = place
        if distance == 0:
            self._sum = max(0, self._sum - NEW_COST)
        else:
            if self._sum == 0:
                self._start, self._first_distance = place, distance
                self._next_end, self._repeats = place + distance, 1
            self._distance = distance
            self._sum += 1
        if self._sum and place + 1 >= self._next_end:
            self._repeats += 1
            self._next_end += self._distance
        if self._sum < self._min_copied or self._repeats < self._repeats_needed(self._distance):
            return None
        return self._first_start(), self._first_distance, self._repeats

    def _first_start(self) -> int:
        """Where the first occurrence begins: the pair that gave it away had a token before it."""
        start = self._start - self._first_distance
        while start and self._tokens[start - 1] == self._tokens[start - 1 + self._first_distance]:
            start -= 1
        return start

    def _copied_from(self, token: int) -> int:
        """Distance to the token that this one copies; 0 if it is new."""
        place = len(self._tokens)
        if self._sum:
            farthest = min(place, self._max_distance)
            for change in DRIFT:
                distance = self._distance + change
                if 0 < distance <= farthest and self._tokens[place - distance] == token:
                    return distance
        if not place:
            return 0
        source = self._pairs.get((self._tokens[-1], token))
        if source is None or place - source > self._max_distance:
            return 0
        return place - source
