"""Wall time of work for many requests, shared out evenly among them."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence


class SharedTime:
    """The shares of all requests add up to the time that was charged."""

    def __init__(self) -> None:
        self._mark_s = 0.0
        self._spent_s: defaultdict[int, float] = defaultdict(float)

    def start(self) -> None:
        """Count from now; what passed before is nobody's."""
        self._mark_s = time.perf_counter()

    def charge(self, requests: Sequence[int]) -> None:
        """Share the time since `start` or the last charge; without requests, leave it to the
        next charge."""
        if not requests:
            return
        now_s = time.perf_counter()
        for request in requests:
            self._spent_s[request] += (now_s - self._mark_s) / len(requests)
        self._mark_s = now_s

    def take(self, request: int) -> float:
        """The share of a request that is done, in seconds."""
        return self._spent_s.pop(request, 0.0)
