"""Whisper's windows of many recordings through one engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_cli.asr.base import Job, Recognition
from murmur_cli.asr.engine_session import EngineSession, OpenJob, most_frequent
from murmur_cli.asr.whisper.chunk_transcript import chunk_transcript
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
from murmur_cli.progress import ProgressHook
from murmur_cli.settings import RETRY_TEMPERATURE


@dataclass(frozen=True, slots=True)
class WhisperOptions:
    """What is asked of the model.

    language: code, None to detect. task: 'transcribe' or 'translate'. slots: of the engine.
    context: names and terms that may be spoken. temperature: of draws after a repetition.
    """

    language: str | None
    task: str
    slots: int
    context: str = ""
    temperature: float = RETRY_TEMPERATURE


class WhisperSession(EngineSession[WindowTask]):
    """Every window is a task of one engine.

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
        prompt = self._prompt(options.language or next(iter(tokens.languages), None))
        engine = DecodeEngine(
            decoder,
            policy,
            TimestampRules(tokens),
            options.slots,
            guard=WHISPER_GUARD,
            limits=RequestLimits(len(prompt), MAX_NEW_TOKENS),
            warn=self.note,
        )
        super().__init__(engine, progress)

    def _begin(self, job: Job) -> tuple[list[WindowTask], list[Request]]:
        windows = [(chunk.index, window) for chunk in job.chunks for window in chunk.windows]
        languages: Sequence[str | None] = [self._options.language] * len(windows)
        encoded: dict[int, torch.Tensor] = {}
        if windows and self._options.language is None and self._tokens.is_multilingual:
            languages, encoded = self._engine.with_back_off(
                lambda: window_languages(
                    self._decoder, self._tokens, job.samples, [window for _, window in windows]
                )
            )
        tasks = [
            WindowTask(
                name=f"{job.recording} window {number}",
                chunk_index=chunk_index,
                samples=job.samples,
                window=window,
                language=languages[number],
                prompt=self._prompt(languages[number]),
                text_language="en" if self._options.task == "translate" else languages[number],
                finds_unheard=self._options.task == "transcribe",
                loop_temperature=self._options.temperature,
            )
            for number, (chunk_index, window) in enumerate(windows)
        ]
        return tasks, [task.first_request(encoded.get(n)) for n, task in enumerate(tasks)]

    def _follow_up(self, task: WindowTask, finished: Finished) -> Request | None:
        return task.take(finished, self._tokens)

    def _recognition(self, opened: OpenJob[WindowTask]) -> Recognition:
        languages = [task.language for task in opened.tasks]
        return Recognition(
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
            (*opened.notes, *self._decoder.offload_note),
        )

    def _prompt(self, language: str | None) -> tuple[int, ...]:
        return self._tokens.prompt(language, self._options.task, self._options.context)
