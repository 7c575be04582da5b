"""Chunks of many recordings through one engine, one request for a chunk."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from murmur_cli.asr.base import Job, Recognition
from murmur_cli.asr.engine_session import EngineSession, OpenJob, most_frequent
from murmur_cli.asr.speech_llm.anchors import AnchorRecogniser
from murmur_cli.asr.speech_llm.chunk_task import ChunkTask
from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder
from murmur_cli.asr.speech_llm.family import Ask, SpeechLlm
from murmur_cli.asr.speech_llm.token_rule import FamilyRule
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.memory_plan import RequestLimits
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.request import Finished, Request
from murmur_cli.errors import ModelError
from murmur_cli.progress import ProgressHook
from murmur_cli.settings import RETRY_TEMPERATURE
from murmur_cli.types import Chunk, ChunkTranscript, Segment, WordTimes

SPARE_PROMPT_TOKENS = 16
"""A prompt may name the seconds of its audio; longer numbers take more tokens."""


@dataclass(frozen=True, slots=True)
class SpeechLlmOptions:
    """What is asked of the model.

    Attributes:
        language: code, None to leave it to the model.
        task: 'transcribe' or 'translate'.
        context: names and terms that may be spoken.
        slots: of the engine.
        max_audio_s: longest audio of one request.
        temperature: of the request after an answer that did not get on: the greedy choice would
            be the same.
        watch: whether words get their times from heads that follow the audio; None: only where
            that takes nothing from steps that run ahead of the host.
    """

    language: str | None
    task: str
    context: str
    slots: int
    max_audio_s: float
    temperature: float = RETRY_TEMPERATURE
    watch: bool | None = None


class SpeechLlmSession(EngineSession[ChunkTask]):
    """Every chunk is a task of one engine."""

    def __init__(
        self,
        decoder: SpeechLlmDecoder,
        family: SpeechLlm,
        model: str,
        policy: EvictionPolicy,
        options: SpeechLlmOptions,
        progress: ProgressHook,
        anchors: AnchorRecogniser | None = None,
    ) -> None:
        self._decoder = decoder
        self._family = family
        self._anchors = anchors
        self._model = model
        self._policy = policy
        self._ask = Ask(options.max_audio_s, options.language, options.task, options.context)
        self._temperature = options.temperature
        guard = family.traits.guard
        rate = family.traits.max_output_tokens_per_s
        self._max_new_tokens = guard.free_tokens + round(rate * options.max_audio_s)
        prompt = family.prompt(self._ask)
        engine = DecodeEngine(
            decoder,
            policy,
            FamilyRule(family),
            options.slots,
            guard=guard,
            limits=RequestLimits(
                len(prompt.before) + len(prompt.after) + SPARE_PROMPT_TOKENS, self._max_new_tokens
            ),
            warn=self.note,
        )
        super().__init__(engine, progress)
        self._say_memory(decoder, options.slots)

    def _say_memory(self, decoder: SpeechLlmDecoder, slots: int) -> None:
        """What the key-value caches will take, before anything is decoded."""
        free = decoder.free_bytes()
        known = "" if free is None else f"; {free / 1e9:.1f} GB are free"
        self._progress.note(
            f"{slots} requests at a time take up to {self._engine.planned_bytes / 1e9:.1f} GB of "
            f"key-value cache, {decoder.bytes_per_token / 1024:.0f} KiB a token{known}",
            level="plan",
        )

    def _begin(self, job: Job) -> tuple[list[ChunkTask], list[Request]]:
        anchors = {} if self._anchors is None else self._anchors.anchors(job)
        tasks = [
            ChunkTask(
                name=f"{job.recording} chunk {chunk.index}",
                chunk=chunk,
                samples=job.samples,
                family=self._family,
                ask=self._ask,
                max_new_tokens=self._max_new_tokens,
                retry_temperature=self._temperature,
                anchors=anchors.get(chunk.index, ()),
            )
            for chunk in job.chunks
        ]
        return tasks, [task.first_request() for task in tasks]

    def _follow_up(self, task: ChunkTask, finished: Finished) -> Request | None:
        if not all(map(math.isfinite, finished.logprobs)):
            raise ModelError(
                f"{self._model}: its scores are no numbers: the weights are damaged, or want "
                "--precision float32"
            )
        return task.take(finished)

    def _recognition(self, opened: OpenJob[ChunkTask]) -> Recognition:
        languages = [language for task in opened.tasks for language in task.languages]
        of_chunk = {task.chunk.index: task for task in opened.tasks}
        return Recognition(
            tuple(self._transcript(chunk, of_chunk[chunk.index]) for chunk in opened.job.chunks),
            most_frequent(languages) if languages else self._ask.language,
            opened.wall_s,
            (*opened.notes, *self._grouping(opened.tasks), *self._decoder.offload_note),
        )

    def _grouping(self, tasks: Sequence[ChunkTask]) -> tuple[str, ...]:
        """What VoxZip's first stage made of the speech, if it was asked for."""
        if self._anchors is None:
            return ()
        found = sum(len(task.anchors) for task in tasks)
        encoded = sum(task.entries_encoded for task in tasks)
        left = sum(task.entries_left for task in tasks)
        return (
            f"voxzip stage 1: {found} anchors of {self._anchors.name}; where they lie, {encoded} "
            f"speech entries became {left}",
        )

    def _transcript(self, chunk: Chunk, task: ChunkTask) -> ChunkTranscript:
        return ChunkTranscript(
            chunk_index=chunk.index,
            segments=_numbered(task.segments),
            language=most_frequent(task.languages) if task.languages else self._ask.language,
            requests=task.requests,
            tokens=task.tokens,
            flags=tuple(task.flags),
            kv=task.kv,
            rejected=tuple(task.rejected),
            untranscribed=tuple(task.untranscribed),
            mean_logprob=sum(task.logprobs) / len(task.logprobs) if task.logprobs else None,
            model=self._model,
            policy=self._policy.name,
            loops=task.loops,
            word_times=_most_words(task.segments),
        )


def _most_words(segments: Sequence[Segment]) -> WordTimes:
    """How most words got their times."""
    words: Counter[WordTimes] = Counter()
    for segment in segments:
        words[segment.word_times] += len(segment.words)
    return words.most_common(1)[0][0] if words else WordTimes.SPREAD


def _numbered(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Segments whose local speakers are numbered through all answers, by first speech."""
    number: dict[tuple[int, int], int] = {}
    return tuple(
        segment
        if segment.local_speaker is None
        else replace(
            segment,
            local_speaker=number.setdefault((segment.part, segment.local_speaker), len(number)),
        )
        for segment in segments
    )
