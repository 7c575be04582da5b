"""Which request gets a free slot.

1. Follow-ups (the rest of a window, a retry) before first requests: their recording is nearly
   done, and a window that needs many requests one after the other must not begin with them when
   all else has ended, or the run ends with single rows.
2. Earlier recordings before later ones, so that recordings end, and are written, in turn.
3. The longest first: the last rows to finish are then small ones.
4. In order of arrival.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from murmur_cli.engine.request import Request


@dataclass(frozen=True, slots=True)
class Queued:
    """A request with its place: the recording's number in order, and its own number."""

    request: Request
    recording: int
    is_follow_up: bool
    arrival: int

    @property
    def order(self) -> tuple[bool, int, float, int]:
        """Smaller is served first; no two are equal."""
        return (not self.is_follow_up, self.recording, -self.request.audio_s, self.arrival)


class Scheduler:
    """Queue of requests and the free slots. Integers only, no tensors."""

    def __init__(self, slots: int) -> None:
        assert slots >= 1, slots
        self.slots = slots
        self._free = set(range(slots))
        self._queue: list[tuple[tuple[bool, int, float, int], Queued]] = []
        self._arrivals = 0

    def submit(
        self, requests: Iterable[Request], *, recording: int = 0, is_follow_up: bool = False
    ) -> None:
        """Queue requests; may be called between steps."""
        for request in requests:
            self.put_back(Queued(request, recording, is_follow_up, self._arrivals))
            self._arrivals += 1

    def put_back(self, queued: Queued) -> None:
        """Queue a request again at the place it had."""
        heapq.heappush(self._queue, (queued.order, queued))

    def admit(
        self, preferred: Callable[[Request], int | None] = lambda request: None
    ) -> list[tuple[int, Queued]]:
        """Slots filled now, lowest slot first, with their requests.

        `preferred` names the slot that a request would rather have; it gets it if it is free.
        """
        chosen: list[Queued] = []
        while self._queue and len(chosen) < len(self._free):
            chosen.append(heapq.heappop(self._queue)[1])
        slots: dict[int, Queued] = {}
        others = []
        for queued in chosen:
            slot = preferred(queued.request)
            if slot is not None and slot in self._free:
                self._free.remove(slot)
                slots[slot] = queued
            else:
                others.append(queued)
        for slot, queued in zip(sorted(self._free), others, strict=False):
            self._free.remove(slot)
            slots[slot] = queued
        return sorted(slots.items(), key=lambda item: item[0])

    def upcoming(self, count: int) -> list[Queued]:
        """The next requests in their order, at most `count`."""
        return [queued for _, queued in heapq.nsmallest(count, self._queue)]

    def drop(self, recording: int) -> list[Queued]:
        """Forget the waiting requests of a recording; returns them."""
        dropped = [queued for _, queued in self._queue if queued.recording == recording]
        self._queue = [item for item in self._queue if item[1].recording != recording]
        heapq.heapify(self._queue)
        return dropped

    def resize(self, slots: int) -> None:
        """Begin anew with other slots, all free; who waits goes on waiting."""
        assert slots >= 1, slots
        self.slots = slots
        self._free = set(range(slots))

    @property
    def can_admit(self) -> bool:
        """Whether a slot is free and a request waits for it."""
        return bool(self._free and self._queue)

    def release(self, slot: int) -> None:
        """Give a slot back."""
        assert slot not in self._free, slot
        self._free.add(slot)

    @property
    def waiting(self) -> int:
        """Requests without a slot."""
        return len(self._queue)

    @property
    def free(self) -> int:
        """Slots without a request."""
        return len(self._free)
