"""Whisper as a recogniser: windows of all chunks decoded as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from murmur_cli.asr.base import Recognition
from murmur_cli.asr.whisper.decoder import WhisperDecoder, WindowSource
from murmur_cli.asr.whisper.language import (
    guess_language,
    is_mixed,
    pool_guesses,
    spread_indices,
)
from murmur_cli.asr.whisper.request_shape import WHISPER_PACKING
from murmur_cli.asr.whisper.timestamp_rules import TimestampRules
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.asr.whisper.window_task import WindowTask
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.progress import ProgressHook
from murmur_cli.types import (
    Chunk,
    ChunkTranscript,
    Flag,
    KvUsage,
    ModelIdentity,
    PackingRule,
    SampleSource,
    Segment,
    TimeSpan,
    Window,
)

STAGE = "recognition"


@dataclass(frozen=True, slots=True)
class WhisperOptions:
    """language: code, None to detect. task: 'transcribe' or 'translate'. slots: of the engine."""

    language: str | None
    task: str
    slots: int


class WhisperBackend:
    """The AsrBackend for any Whisper model of transformers."""

    def __init__(
        self,
        model: Any,
        tokens: WhisperTokens,
        identity: ModelIdentity,
        policy: EvictionPolicy,
        options: WhisperOptions,
    ) -> None:
        self._tokens = tokens
        self._identity = identity
        self._options = options
        self._decoder = WhisperDecoder(model, tokens)
        self._policy = policy
        # Fails now, not after minutes, when the model does not know the language or task.
        tokens.prompt(self._fixed_language or next(iter(tokens.languages), None), options.task)

    @property
    def identity(self) -> ModelIdentity:
        """Which weights answer."""
        return self._identity

    @property
    def precision(self) -> str:
        """Number format of the arithmetic, such as 'float32'."""
        return self._decoder.precision

    @property
    def decoder(self) -> WhisperDecoder:
        """The engine's adapter, for measuring the engine without a recording's way through it."""
        return self._decoder

    @property
    def packing(self) -> PackingRule:
        """Windows of 30 s."""
        return WHISPER_PACKING

    @property
    def _fixed_language(self) -> str | None:
        if not self._tokens.is_multilingual:
            return "en" if self._options.language is None else self._options.language
        return self._options.language

    def transcribe(
        self, samples: SampleSource, chunks: Sequence[Chunk], recording: str, progress: ProgressHook
    ) -> Recognition:
        """Transcribe the chunks of one recording. Times count from its start."""
        windows = [(chunk.index, window) for chunk in chunks for window in chunk.windows]
        if not windows:
            return Recognition((), self._fixed_language)
        languages, encoded = self._languages(samples, [window for _, window in windows])
        tasks = {
            f"{recording} window {number}": WindowTask(
                name=f"{recording} window {number}",
                chunk_index=chunk_index,
                samples=samples,
                window=window,
                language=language,
                prompt=self._tokens.prompt(language, self._options.task),
                text_language=self._text_language(language),
                finds_unheard=self._options.task == "transcribe",
            )
            for number, ((chunk_index, window), language) in enumerate(
                zip(windows, languages, strict=True)
            )
        }
        slots = min(self._options.slots, len(tasks))
        engine = DecodeEngine(self._decoder, self._policy, TimestampRules(self._tokens), slots)
        engine.submit(
            task.first_request(encoded.get(number)) for number, task in enumerate(tasks.values())
        )
        progress.stage(recording, STAGE, len(tasks))
        done = 0
        while engine.busy:
            for finished in engine.step():
                follow_up = tasks[finished.request.key].take(finished, self._tokens)
                if follow_up is not None:
                    engine.submit([follow_up])
                else:
                    done += 1
                    progress.advance(recording, STAGE, done)
        return Recognition(
            tuple(
                self._chunk_transcript(
                    chunk, [task for task in tasks.values() if task.chunk_index == chunk.index]
                )
                for chunk in chunks
            ),
            _most_frequent(languages),
        )

    def _text_language(self, spoken: str | None) -> str | None:
        return "en" if self._options.task == "translate" else spoken

    def _languages(
        self, samples: SampleSource, windows: Sequence[Window]
    ) -> tuple[list[str | None], dict[int, torch.Tensor]]:
        """Language of each window, and the encoder states that finding out has cost."""
        if self._fixed_language is not None:
            return [self._fixed_language] * len(windows), {}
        encoded: dict[int, torch.Tensor] = {}
        guesses = {}
        for index in spread_indices(len(windows)):
            source = WindowSource(samples, windows[index].pieces)
            states = self._decoder.encode([source.audio])
            encoded[index] = states[0]
            guesses[index] = guess_language(self._decoder.language_logits(states), self._tokens)[0]
        main = pool_guesses(list(guesses.values())).best
        if not is_mixed(list(guesses.values())):
            return [main] * len(windows), encoded
        # Several languages: every window is asked, and believed when it is certain.
        languages: list[str | None] = []
        for index, window in enumerate(windows):
            guess = guesses.get(index)
            if guess is None:
                states = self._decoder.encode([WindowSource(samples, window.pieces).audio])
                guess = guess_language(self._decoder.language_logits(states), self._tokens)[0]
            languages.append(guess.best if guess.is_certain else main)
        return languages, encoded

    def _chunk_transcript(self, chunk: Chunk, tasks: Sequence[WindowTask]) -> ChunkTranscript:
        segments: list[Segment] = []
        for task in tasks:
            for stretch in task.heard:
                words = stretch.words
                span = TimeSpan(
                    min(word.span.start_s for word in words), max(word.span.end_s for word in words)
                )
                segments.append(
                    Segment(
                        span,
                        words,
                        chunk.index,
                        language=task.text_language,
                        flags=(Flag.LOW_CONFIDENCE,) if stretch.is_doubtful else (),
                    )
                )
        logprobs = sum(task.logprob_count for task in tasks)
        languages = [task.language for task in tasks]
        return ChunkTranscript(
            chunk_index=chunk.index,
            segments=tuple(segments),
            language=max(sorted(set(languages), key=str), key=languages.count)
            if languages
            else None,
            requests=sum(task.requests for task in tasks),
            tokens=sum(task.tokens for task in tasks),
            flags=tuple(dict.fromkeys(flag for task in tasks for flag in task.flags)),
            kv=sum((task.kv for task in tasks), KvUsage()),
            rejected=tuple(text for task in tasks for text in task.rejected),
            untranscribed=tuple(span for task in tasks for span in task.untranscribed),
            model=self._identity.name,
            policy=self._policy.name,
            mean_logprob=sum(task.logprob_sum for task in tasks) / logprobs if logprobs else None,
        )


def _most_frequent(languages: Sequence[str | None]) -> str | None:
    """The language of most windows; ties go to the first in the alphabet."""
    return max(sorted(set(languages), key=str), key=languages.count) if languages else None
