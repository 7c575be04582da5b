"""Sources of the next requests, prepared by a thread while the decoder works."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

from murmur_cli.engine.scheduler import Queued
from murmur_cli.side_thread import start_side_thread

SLOTS_PER_PREPARED = 4
"""One source is held ready for so many slots: enough for rows that end together, and little
beside the arenas."""


class ReadAhead:
    """Prepares what `want` lists, in that order, and never holds more than `limit`.

    A limit of 0 prepares nothing ahead: `take` then does the work.
    """

    def __init__(self, prepare: Callable[[Any], Any], limit: int) -> None:
        self.limit = limit
        self._prepare = prepare
        self._wanted: list[Queued] = []
        self._made: dict[int, tuple[Any, Exception | None]] = {}
        self._at: int | None = None
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def held(self) -> int:
        """Sources that are prepared or being prepared."""
        with self._changed:
            return len(self._made) + (self._at is not None)

    def want(self, queued: Sequence[Queued]) -> None:
        """Name the next requests in their order, in place of those named before.

        What was made for others is kept: they still wait, only later.
        """
        assert not self._closed
        with self._changed:
            self._wanted = list(queued[: self.limit])
            has_work = self._next() is not None
            self._changed.notify_all()
        if has_work and self._thread is None:
            # A daemon: an engine that nobody closed must not keep the program alive.
            self._thread = start_side_thread(self._run, "read ahead", daemon=True)

    def take(self, queued: Queued) -> Any:
        """The prepared source of a request; made here and now if the thread has not begun it.

        Raises what preparing it raised, in whichever thread that was.
        """
        with self._changed:
            self._wanted = [other for other in self._wanted if other.arrival != queued.arrival]
            while self._at == queued.arrival:
                self._changed.wait()
            made = self._made.pop(queued.arrival, None)
            self._changed.notify_all()
        if made is None:
            return self._prepare(queued.request.source)
        prepared, error = made
        if error is not None:
            raise error
        return prepared

    def forget(self, arrivals: Collection[int]) -> None:
        """Let go what was made for requests that are dropped."""
        with self._changed:
            self._wanted = [queued for queued in self._wanted if queued.arrival not in arrivals]
            for arrival in arrivals:
                self._made.pop(arrival, None)
            if self._at in arrivals:
                self._at = None  # the thread finds that nobody waits for what it makes

    def close(self) -> None:
        """End the thread, after the source that it is at, and let everything go."""
        with self._changed:
            self._closed = True
            self._wanted = []
            self._made = {}
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _next(self) -> Queued | None:
        if len(self._made) >= self.limit:
            return None
        return next((queued for queued in self._wanted if queued.arrival not in self._made), None)

    def _run(self) -> None:
        while (queued := self._wait_for_work()) is not None:
            made: tuple[Any, Exception | None]
            try:
                made = (self._prepare(queued.request.source), None)
            except Exception as error:
                made = (None, error)
            with self._changed:
                if self._at == queued.arrival:
                    self._at = None
                    if not self._closed:
                        self._made[queued.arrival] = made
                self._changed.notify_all()
            del queued, made  # nothing is kept alive by an idle thread

    def _wait_for_work(self) -> Queued | None:
        with self._changed:
            while (queued := self._next()) is None and not self._closed:
                self._changed.wait()
            if self._closed or queued is None:
                return None
            self._at = queued.arrival
            return queued
