"""Which request gets a free slot: the longest first, then in order of arrival."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from murmur_cli.engine.request import Request


class Scheduler:
    """Queue of requests and the free slots. Integers only, no tensors.

    Longest first keeps the end of a run short: the last rows to finish are small ones.
    """

    def __init__(self, slots: int) -> None:
        assert slots >= 1, slots
        self.slots = slots
        self._free = list(range(slots))
        self._queue: list[tuple[float, int, Request]] = []
        self._arrivals = 0

    def submit(self, requests: Iterable[Request]) -> None:
        """Queue requests; may be called between steps."""
        for request in requests:
            heapq.heappush(self._queue, (-request.audio_s, self._arrivals, request))
            self._arrivals += 1

    def admit(self) -> list[tuple[int, Request]]:
        """Slots filled now, lowest slot first, with their requests."""
        admitted = []
        while self.can_admit:
            slot = heapq.heappop(self._free)
            admitted.append((slot, heapq.heappop(self._queue)[2]))
        return admitted

    @property
    def can_admit(self) -> bool:
        """Whether a slot is free and a request waits for it."""
        return bool(self._free and self._queue)

    def release(self, slot: int) -> None:
        """Give a slot back."""
        assert slot not in self._free, slot
        heapq.heappush(self._free, slot)

    @property
    def waiting(self) -> int:
        """Requests without a slot."""
        return len(self._queue)

    @property
    def free(self) -> int:
        """Slots without a request."""
        return len(self._free)
