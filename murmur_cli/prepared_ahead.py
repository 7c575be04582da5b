"""Recordings read and planned by a thread of their own, a bounded number ahead."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from murmur_cli.side_thread import start_side_thread

Source = TypeVar("Source")
Prepared = TypeVar("Prepared")

PREPARED_AHEAD = 2
"""Recordings that wait, the one in the making included: one is ready when the recogniser asks,
and the next is begun. More would only hold memory, for reading is far faster than recognition."""


class PreparedAhead(Generic[Source, Prepared]):
    """Runs `prepare` on each source in turn, in a thread that starts at once.

    A context manager: leaving it ends the thread, after the source that it is at; nobody waits
    for that.
    """

    def __init__(
        self, sources: Sequence[Source], prepare: Callable[[Source], Prepared], name: str
    ) -> None:
        self._sources = sources
        self._prepare = prepare
        self._name = name
        self._ready: deque[tuple[Source, Prepared | BaseException]] = deque()
        self._changed = threading.Condition()
        self._taken = 0
        self._closed = False

    def __enter__(self) -> PreparedAhead[Source, Prepared]:
        start_side_thread(self._run, self._name, daemon=False)
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._ready.clear()
            self._changed.notify_all()

    @property
    def more(self) -> bool:
        """Whether a source has not been taken yet."""
        return self._taken < len(self._sources)

    def take(self, *, wait: bool) -> tuple[Source, Prepared | BaseException] | None:
        """The next source with what was made of it, or with what `prepare` raised.

        None if it is not ready and `wait` is False.
        """
        assert self.more
        with self._changed:
            while wait and not self._ready:
                self._changed.wait()
            if not self._ready:
                return None
            self._taken += 1
            taken = self._ready.popleft()
            self._changed.notify_all()
            return taken

    def _run(self) -> None:
        for source in self._sources:
            with self._changed:
                # One place is for the source that is about to be prepared.
                while len(self._ready) >= PREPARED_AHEAD and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
            made = self._attempt(source)
            with self._changed:
                if not self._closed:
                    self._ready.append((source, made))
                    self._changed.notify_all()
            del made  # it may be taken and done with long before the next is

    def _attempt(self, source: Source) -> Prepared | BaseException:
        try:
            return self._prepare(source)
        except BaseException as error:
            # Whoever takes the source decides; a thread that just ended would leave him waiting.
            return error
