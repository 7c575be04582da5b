"""One run of the engine over many recordings: whose request is whose, who is done, who failed.

What a request asks and what its answer means is the backend's; see the methods of
`EngineSession` without a body.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from murmur_cli.asr.base import Job, Recognised, Recognition
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.request import Finished, Request
from murmur_cli.errors import ModelError
from murmur_cli.progress import ProgressHook

STAGE = "recognition"


class Task(Protocol):
    """A stretch of a recording that needs one request or several, one after the other."""

    @property
    def name(self) -> str:
        """The key of its requests; unique in the session."""


TaskT = TypeVar("TaskT", bound=Task)


@dataclass(slots=True)
class OpenJob(Generic[TaskT]):
    """A recording whose tasks are not all done. `number` counts recordings."""

    job: Job
    number: int
    tasks: list[TaskT] = field(default_factory=list)
    done: int = 0
    wall_s: float = 0.0
    notes: list[str] = field(default_factory=list)


class EngineSession(ABC, Generic[TaskT]):
    """A RecognitionSession: every task's requests go through one engine.

    Args:
        engine: what decodes; `warn` of its constructor may be `self.note`.
        progress: told of each recording's tasks.
    """

    def __init__(self, engine: DecodeEngine, progress: ProgressHook) -> None:
        self._engine = engine
        self._progress = progress
        self._submitted = 0
        self._open: dict[str, OpenJob[TaskT]] = {}
        self._tasks: dict[str, tuple[OpenJob[TaskT], TaskT]] = {}
        self._ended: list[Recognised] = []

    # --- what a backend adds ----------------------------------------------------------------

    @abstractmethod
    def _begin(self, job: Job) -> tuple[list[TaskT], list[Request]]:
        """The tasks of a recording, and the first request of each."""

    @abstractmethod
    def _follow_up(self, task: TaskT, finished: Finished) -> Request | None:
        """The next request of a task; None when it is done."""

    @abstractmethod
    def _recognition(self, opened: OpenJob[TaskT]) -> Recognition:
        """The result of a recording whose tasks are done."""

    # --- RecognitionSession -----------------------------------------------------------------

    def submit(self, job: Job, *, more_follow: bool) -> None:
        """Take a recording in and queue its requests.

        Raises:
            ModelError: there is not enough memory for a single request.
        """
        assert job.recording not in self._open, job.recording
        start_s = time.perf_counter()
        opened: OpenJob[TaskT] = OpenJob(job, self._submitted)
        self._submitted += 1
        self._open[job.recording] = opened
        try:
            opened.tasks, requests = self._begin(job)
        except ModelError:
            raise
        except Exception as error:
            self._fail(opened, error)
        else:
            self._tasks |= {task.name: (opened, task) for task in opened.tasks}
            if requests:
                self._progress.stage(job.recording, STAGE, len(requests))
            self._engine.submit(requests, recording=opened.number)
            opened.wall_s += time.perf_counter() - start_s
            if not requests:
                self._end(opened, self._recognition(opened))
        if not more_follow:
            self._engine.expect_no_more()

    @property
    def busy(self) -> bool:
        """Whether a recording is not done."""
        return bool(self._open or self._ended)

    @property
    def wants_more(self) -> bool:
        """Whether fewer requests wait than the engine has slots."""
        return self._engine.waiting < self._engine.slots

    def step(self) -> list[Recognised]:
        """One token for each row; the recordings that are done now.

        Raises:
            ModelError: there is not enough memory for a single request.
        """
        for finished in self._engine.step():
            if finished.request.key not in self._tasks:
                continue  # its recording failed in this very step
            opened, task = self._tasks[finished.request.key]
            try:
                self._take(opened, task, finished)
            except Exception as error:
                # A fault of ours in one task; the other recordings go on.
                self._fail(opened, error)
        for failed in self._engine.take_failed():
            if failed.request.key in self._tasks:
                self._fail(self._tasks[failed.request.key][0], failed.error)
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """End, whatever is left."""
        self._engine.close()
        self._open.clear()
        self._tasks.clear()

    def note(self, message: str) -> None:
        """Said once to who watches, and kept with every recording that it touches."""
        self._progress.note(message, level="warning")
        for opened in self._open.values():
            opened.notes.append(message)

    # --- a recording ------------------------------------------------------------------------

    def _take(self, opened: OpenJob[TaskT], task: TaskT, finished: Finished) -> None:
        start_s = time.perf_counter()
        follow_up = self._follow_up(task, finished)
        opened.wall_s += finished.wall_s + time.perf_counter() - start_s
        if follow_up is not None:
            follow_up = _with_source_of(finished.request, follow_up)
            self._engine.submit([follow_up], recording=opened.number, is_follow_up=True)
            return
        del self._tasks[task.name]
        opened.done += 1
        self._progress.advance(opened.job.recording, STAGE, opened.done)
        if opened.done == len(opened.tasks):
            self._end(opened, self._recognition(opened))

    def _fail(self, opened: OpenJob[TaskT], error: Exception) -> None:
        self._engine.drop(opened.number)
        for task in opened.tasks:
            self._tasks.pop(task.name, None)
        self._end(opened, error)

    def _end(self, opened: OpenJob[TaskT], result: Recognition | Exception) -> None:
        del self._open[opened.job.recording]
        self._ended.append(Recognised(opened.job.recording, result))


def most_frequent(languages: Sequence[str | None]) -> str | None:
    """The language of most tasks; ties go to the first in the alphabet."""
    return max(sorted(set(languages), key=str), key=languages.count) if languages else None


def _with_source_of(first: Request, second: Request) -> Request:
    """A retry of the same audio names the same source, so that the engine need not load it."""
    if second.source.pieces == first.source.pieces:
        return replace(second, source=first.source)
    return second
