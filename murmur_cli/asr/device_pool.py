"""Several devices, one queue: a worker for each takes what it has room for.

A recogniser whose chunks are independent requests shares the chunks of a recording out among all
devices; one that looks at a recording as a whole (Whisper asks for its language) gets recordings.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

from murmur_cli.asr.base import (
    AsrBackend,
    Job,
    Recognised,
    Recognition,
    RecognitionSession,
)
from murmur_cli.asr.engine_session import STAGE, most_frequent
from murmur_cli.progress import ProgressHook, SilentProgress
from murmur_cli.types import Chunk, ChunkTranscript, ModelIdentity, PackingRule

WAIT_S = 0.2
"""How long a step waits for a worker: the caller has other things to look after."""


class PooledBackend:
    """An AsrBackend over backends of one model, each on a device of its own."""

    def __init__(self, backends: Sequence[AsrBackend]) -> None:
        assert backends
        self._backends = tuple(backends)

    @property
    def identity(self) -> ModelIdentity:
        """Which weights answer."""
        return self._backends[0].identity

    @property
    def precision(self) -> str:
        """Number format of the arithmetic, and on how many devices."""
        return f"{self._backends[0].precision} on {len(self._backends)} devices"

    @property
    def packing(self) -> PackingRule | None:
        """That of the backends."""
        return self._backends[0].packing

    @property
    def names_speakers(self) -> bool:
        """That of the backends."""
        return self._backends[0].names_speakers

    def open_session(self, progress: ProgressHook) -> PooledSession:
        """Begin to recognise on all devices; one session at a time."""
        by_chunk = self.packing is None
        return PooledSession(
            [backend.open_session(_NotesOnly(progress)) for backend in self._backends],
            progress,
            by_chunk=by_chunk,
        )


class _NotesOnly(SilentProgress):
    """Hands on what workers have to say; what they have done is counted by the pool."""

    def __init__(self, progress: ProgressHook) -> None:
        self._progress = progress

    def note(self, message: str, *, level: str = "info") -> None:
        """As of the hook that watches the run."""
        self._progress.note(message, level=level)


@dataclass(slots=True)
class _Recording:
    """A recording in the pool: its share of chunks that are done."""

    job: Job
    parts: int
    done: list[Recognition] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Part:
    """What a worker is given: some chunks of a recording. Its name is unique in the pool."""

    name: str
    recording: str
    job: Job


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a worker gives back: the result of a part, or the error that stopped the worker."""

    part: _Part | None
    result: Recognition | BaseException


class PooledSession:
    """A RecognitionSession over the sessions of several devices, each in a thread of its own."""

    def __init__(
        self, sessions: Sequence[RecognitionSession], progress: ProgressHook, *, by_chunk: bool
    ) -> None:
        self._progress = progress
        self._by_chunk = by_chunk
        self._open: dict[str, _Recording] = {}
        self._waiting: deque[_Part] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._more_follow = True
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._ended: list[Recognised] = []
        self._workers = [
            threading.Thread(target=self._work, args=(session,), name=f"device {number}")
            for number, session in enumerate(sessions)
        ]
        for worker in self._workers:
            worker.start()

    # --- RecognitionSession -----------------------------------------------------------------

    def submit(self, job: Job, *, more_follow: bool) -> None:
        """Queue a recording's chunks for whoever is free."""
        assert job.recording not in self._open, job.recording
        groups: list[Sequence[Chunk]] = [job.chunks]
        if self._by_chunk and job.chunks:
            groups = [[chunk] for chunk in job.chunks]
        self._open[job.recording] = _Recording(job, len(groups))
        self._progress.stage(job.recording, STAGE, len(groups))
        with self._changed:
            for number, chunks in enumerate(groups):
                name = f"{job.recording} part {number}"
                part = Job(name, job.samples, chunks)
                self._waiting.append(_Part(name, job.recording, part))
            self._more_follow = more_follow
            self._changed.notify_all()

    @property
    def busy(self) -> bool:
        """Whether a recording is not done."""
        return bool(self._open or self._ended)

    @property
    def wants_more(self) -> bool:
        """Whether fewer parts wait than there are devices."""
        with self._changed:
            return len(self._waiting) < len(self._workers)

    def step(self) -> list[Recognised]:
        """Wait a moment for the workers; the recordings that are done now.

        Raises:
            Exception: what a worker's session raised: the recogniser cannot go on.
        """
        try:
            answer = self._answers.get(timeout=WAIT_S if self._open else 0.0)
            self._take(answer)
            while True:
                self._take(self._answers.get_nowait())
        except Empty:
            pass
        ended, self._ended = self._ended, []
        return ended

    def close(self) -> None:
        """End the workers, whatever is left."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._changed.notify_all()
        for worker in self._workers:
            worker.join()
        self._open.clear()

    # --- a worker's thread ------------------------------------------------------------------

    def _work(self, session: RecognitionSession) -> None:
        mine: dict[str, _Part] = {}
        try:
            while not self._is_closed:
                part, more_follow = self._next(session, is_idle=not mine)
                if part is not None:
                    mine[part.name] = part
                    session.submit(part.job, more_follow=more_follow)
                if mine:
                    for done in session.step():
                        self._answers.put(_Answer(mine.pop(done.recording), done.result))
        except BaseException as error:
            self._answers.put(_Answer(None, error))
        finally:
            session.close()

    def _next(self, session: RecognitionSession, *, is_idle: bool) -> tuple[_Part | None, bool]:
        """A part, if the session has room for one, and whether more may follow.

        An idle worker waits until there is one or the pool is closed.
        """
        with self._changed:
            while is_idle and not self._waiting and not self._is_closed:
                self._changed.wait()
            if not self._waiting or not (is_idle or session.wants_more):
                return None, True
            part = self._waiting.popleft()
            return part, self._more_follow or bool(self._waiting)

    # --- a recording ------------------------------------------------------------------------

    def _take(self, answer: _Answer) -> None:
        if answer.part is None:
            assert isinstance(answer.result, BaseException)
            raise answer.result
        recording = self._open.get(answer.part.recording)
        if recording is None:
            return  # it failed before
        if isinstance(answer.result, BaseException):
            self._fail(answer.part.recording, answer.result)
            return
        recording.done.append(answer.result)
        self._progress.advance(answer.part.recording, STAGE, len(recording.done))
        if len(recording.done) == recording.parts:
            del self._open[answer.part.recording]
            self._ended.append(Recognised(answer.part.recording, _joined(recording)))

    def _fail(self, name: str, error: BaseException) -> None:
        if not isinstance(error, Exception):
            raise error
        del self._open[name]
        with self._changed:
            self._waiting = deque(part for part in self._waiting if part.recording != name)
        self._ended.append(Recognised(name, error))


def _joined(recording: _Recording) -> Recognition:
    """One result of the parts; chunks in order."""
    of_chunk: dict[int, ChunkTranscript] = {
        chunk.chunk_index: chunk for part in recording.done for chunk in part.chunks
    }
    notes = dict.fromkeys(note for part in recording.done for note in part.notes)
    return Recognition(
        tuple(of_chunk[chunk.index] for chunk in recording.job.chunks),
        most_frequent([part.language for part in recording.done]),
        sum(part.wall_s for part in recording.done),
        tuple(notes),
    )
