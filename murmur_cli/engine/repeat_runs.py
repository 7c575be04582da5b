"""For every period at once: how long the tail of a sequence has repeated itself."""

from __future__ import annotations

from collections.abc import Callable


class RepeatRuns:
    """Runs of tokens that equal the one a fixed period before them.

    A token visits only its own earlier places within `max_period`: a few in text, at most
    `max_period` while it loops.
    """

    def __init__(self, max_period: int, repeats_needed: Callable[[int], int]) -> None:
        self._needed = [
            0,
            *((repeats_needed(period) - 1) * period for period in range(1, max_period + 1)),
        ]
        self._last: dict[int, int] = {}
        self._before: list[int] = []
        self._runs: dict[int, int] = {}

    def see(self, token: int) -> tuple[int, int, int] | None:
        """Note the next token; (start, period, repeats) once a run is as long as needed.

        Of several periods the shortest; `start` is the first token of the first occurrence.
        """
        place = len(self._before)
        before = self._last.get(token, -1)
        self._last[token] = place
        self._before.append(before)
        runs: dict[int, int] = {}
        found = None
        while before >= 0 and (period := place - before) < len(self._needed):
            run = runs[period] = self._runs.get(period, 0) + 1
            if found is None and run >= self._needed[period]:
                found = (place + 1 - period - run, period, run // period + 1)
            before = self._before[before]
        self._runs = runs
        return found
