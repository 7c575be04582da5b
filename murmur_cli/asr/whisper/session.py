"""One run of the engine over the windows of many recordings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch

from murmur_cli.asr.base import Job, Recognised, Recognition
from murmur_cli.asr.whisper.chunk_transcript import chunk_transcript, most_frequent
from murmur_cli.asr.whisper.decoder import WhisperDecoder
from murmur_cli.asr.whisper.request_shape import WHISPER_GUARD
from murmur_cli.asr.whisper.timestamp_rules import TimestampRules
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.asr.whisper.window_languages import window_languages
from murmur_cli.asr.whisper.window_task import MAX_NEW_TOKENS, WindowTask
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.memory_plan import RequestLimits
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.request import Finished, Request
from murmur_cli.errors import ModelError
from murmur_cli.progress import ProgressHook

STAGE = "recognition"


@dataclass(frozen=True, slots=True)
class WhisperOptions:
    """language: code, None to detect. task: 'transcribe' or 'translate'. slots: of the engine."""

    language: str | None
    task: str
    slots: int


@dataclass(slots=True)
class _OpenJob:
    """A recording whose windows are not all done. `number` counts recordings."""

    job: Job
    number: int
    tasks: list[WindowTask] = field(default_factory=list)
    done: int = 0
    wall_s: float = 0.0
    notes: list[str] = field(default_factory=list)


class WhisperSession:
    """A RecognitionSession: every window is a request of one engine.

    Args:
        decoder, tokens: of the model.
        model: its name in the transcripts.
        policy: what decode steps read.
        options: language None is asked of the model, for each recording.
        progress: told of each recording's windows.
    """

    def __init__(
        self,
        decoder: WhisperDecoder,
        tokens: WhisperTokens,
        model: str,
        policy: EvictionPolicy,
        options: WhisperOptions,
        progress: ProgressHook,
    ) -> None:
        self._decoder = decoder
        self._tokens = tokens
        self._model = model
        self._policy = policy
        self._options = options
        self._progress = progress
        prompt = self._prompt(options.language or next(iter(tokens.languages), None))
        self._engine = DecodeEngine(
            decoder,
            policy,
            TimestampRules(tokens),
            options.slots,
            guard=WHISPER_GUARD,
            limits=RequestLimits(len(prompt), MAX_NEW_TOKENS),
            warn=self._note,
        )
        self._submitted = 0
        self._open: dict[str, _OpenJob] = {}
        self._tasks: dict[str, tuple[_OpenJob, WindowTask]] = {}
        self._ended: list[Recognised] = []

    def submit(self, job: Job, *, more_follow: bool) -> None:
        """Take a recording in: find its language, queue its windows.

        Raises:
            ModelError: there is not enough memory for a single window.
        """
        assert job.recording not in self._open, job.recording
        start_s = time.perf_counter()
        opened = _OpenJob(job, self._submitted)
        self._submitted += 1
        self._open[job.recording] = opened
        try:
            requests = self._first_requests(opened)
        except ModelError:
            raise
        except Exception as error:
            self._fail(opened, error)
        else:
            if requests:
                self._progress.stage(job.recording, STAGE, len(requests))
            self._engine.submit(requests, recording=opened.number)
            opened.wall_s += time.perf_counter() - start_s
            if not requests:
                self._finish(opened)
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
            ModelError: there is not enough memory for a single window.
        """
        for finished in self._engine.step():
            if finished.request.key not in self._tasks:
                continue  # its recording failed in this very step
            opened, task = self._tasks[finished.request.key]
            try:
                self._take(opened, task, finished)
            except Exception as error:
                # A fault of ours in one window; the other recordings go on.
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

    # --- a recording ------------------------------------------------------------------------

    def _first_requests(self, opened: _OpenJob) -> list[Request]:
        job = opened.job
        windows = [(chunk.index, window) for chunk in job.chunks for window in chunk.windows]
        languages: Sequence[str | None] = [self._options.language] * len(windows)
        encoded: dict[int, torch.Tensor] = {}
        if windows and self._options.language is None and self._tokens.is_multilingual:
            languages, encoded = self._engine.with_back_off(
                lambda: window_languages(
                    self._decoder, self._tokens, job.samples, [window for _, window in windows]
                )
            )
        for number, (chunk_index, window) in enumerate(windows):
            task = WindowTask(
                name=f"{job.recording} window {number}",
                chunk_index=chunk_index,
                samples=job.samples,
                window=window,
                language=languages[number],
                prompt=self._prompt(languages[number]),
                text_language="en" if self._options.task == "translate" else languages[number],
                finds_unheard=self._options.task == "transcribe",
            )
            opened.tasks.append(task)
            self._tasks[task.name] = (opened, task)
        return [task.first_request(encoded.get(n)) for n, task in enumerate(opened.tasks)]

    def _take(self, opened: _OpenJob, task: WindowTask, finished: Finished) -> None:
        start_s = time.perf_counter()
        follow_up = task.take(finished, self._tokens)
        opened.wall_s += finished.wall_s + time.perf_counter() - start_s
        if follow_up is not None:
            follow_up = _with_source_of(finished.request, follow_up)
            self._engine.submit([follow_up], recording=opened.number, is_follow_up=True)
            return
        del self._tasks[task.name]
        opened.done += 1
        self._progress.advance(opened.job.recording, STAGE, opened.done)
        if opened.done == len(opened.tasks):
            self._finish(opened)

    def _finish(self, opened: _OpenJob) -> None:
        languages = [task.language for task in opened.tasks]
        recognition = Recognition(
            tuple(
                chunk_transcript(
                    chunk,
                    [task for task in opened.tasks if task.chunk_index == chunk.index],
                    model=self._model,
                    policy=self._policy.name,
                )
                for chunk in opened.job.chunks
            ),
            most_frequent(languages) if languages else self._options.language,
            opened.wall_s,
            tuple(opened.notes),
        )
        self._end(opened, recognition)

    def _fail(self, opened: _OpenJob, error: Exception) -> None:
        self._engine.drop(opened.number)
        for task in opened.tasks:
            self._tasks.pop(task.name, None)
        self._end(opened, error)

    def _end(self, opened: _OpenJob, result: Recognition | Exception) -> None:
        del self._open[opened.job.recording]
        self._ended.append(Recognised(opened.job.recording, result))

    def _prompt(self, language: str | None) -> tuple[int, ...]:
        return self._tokens.prompt(language, self._options.task)

    def _note(self, message: str) -> None:
        """Said once to who watches, and kept with every recording that it touches."""
        self._progress.note(message, level="warning")
        for opened in self._open.values():
            opened.notes.append(message)


def _with_source_of(first: Request, second: Request) -> Request:
    """A retry of the same audio names the same source, so that the engine need not load it."""
    if second.source.pieces == first.source.pieces:
        return replace(second, source=first.source)
    return second
