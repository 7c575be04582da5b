"""A SpeechLLM whose answers are given, and a chunk led through them without an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from murmur_cli.asr.speech_llm.answer_text import AnswerText
from murmur_cli.asr.speech_llm.chunk_task import MAX_REQUESTS, ChunkTask
from murmur_cli.asr.speech_llm.family import Ask, PromptTokens, SpokenOutput, SpokenSegment
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits
from murmur_cli.engine.request import Finished, Loop, Request, StopReason
from murmur_cli.types import Chunk, KvUsage, SampleSpan, Window

END, LENGTH, CEILING, LOOP = StopReason.END, StopReason.LENGTH, StopReason.CEILING, StopReason.LOOP


@dataclass(frozen=True)
class Answer:
    """One answer: what `read` makes of it, and how the row ended."""

    segments: tuple[SpokenSegment, ...] = ()
    stop: StopReason = END
    unreadable: str = ""
    language: str | None = None
    logprob: float = -0.1
    is_damaged: bool = False


def said(
    text: str, start_s: float | None = None, end_s: float | None = None, speaker: int | None = None
) -> SpokenSegment:
    """A segment; '[…]' is an event."""
    return SpokenSegment(text, start_s, end_s, speaker, is_event=text.startswith("["))


@dataclass
class ScriptedFamily:
    """The part of a SpeechLlm that a chunk's task uses. A token is the number of its answer."""

    carries_times: bool = True
    answers: list[Answer] = field(default_factory=list)
    reads: list[tuple[tuple[int, ...], bool]] = field(default_factory=list)
    asked: list[Ask] = field(default_factory=list)

    @property
    def traits(self) -> SpeechLlmTraits:
        return SpeechLlmTraits(
            model_type="scripted",
            label="Scripted",
            sample_rate_hz=16_000,
            speech_tokens_per_s=7.5,
            output_tokens_per_s=5.0,
            max_output_tokens_per_s=20.0,
            carries_speakers=self.carries_times,
            carries_times=self.carries_times,
            max_chunk_s=3600.0,
        )

    def answer_text(self, tokens: Sequence[int]) -> AnswerText:
        """The answer's segments, one after the other; its last token writes them all."""
        text = " ".join(segment.text for segment in self.answers[tokens[0]].segments)
        return AnswerText(text, (*(0,) * (len(tokens) - 1), len(text)))

    def is_text(self, token: int) -> bool:
        return True

    def prompt(self, ask: Ask) -> PromptTokens:
        self.asked.append(ask)
        return PromptTokens((1, 2), (3,))

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        self.reads.append((tuple(tokens), is_cut))
        answer = self.answers[tokens[0]]
        is_whole = not (is_cut or answer.unreadable or answer.is_damaged)
        return SpokenOutput(answer.segments, is_whole, answer.unreadable, answer.language)


@dataclass
class Led:
    """A chunk that is done, with the requests it took."""

    task: ChunkTask
    family: ScriptedFamily
    requests: list[Request]

    @property
    def asked(self) -> list[tuple[tuple[float, float], ...]]:
        """Pieces of each request, seconds of the recording."""
        return [
            tuple((piece.time.start_s, piece.time.end_s) for piece in request.source.pieces)
            for request in self.requests
        ]

    @property
    def texts(self) -> list[str]:
        return [segment.text for segment in self.task.segments]

    @property
    def rejected(self) -> list[str]:
        return [rejected.text for rejected in self.task.rejected]

    @property
    def untranscribed(self) -> list[tuple[float, float]]:
        return [(span.start_s, span.end_s) for span in self.task.untranscribed]


def chunk_of(
    *speech: tuple[float, float], pieces: Sequence[tuple[float, float]] | None = None
) -> Chunk:
    """A chunk of one window; its pieces, if not given, are one from 0 to the end of the speech."""
    spoken = tuple(map(_span, speech))
    heard = tuple(map(_span, pieces or [(0.0, speech[-1][1])]))
    span = SampleSpan(heard[0].start, heard[-1].end)
    return Chunk(0, span, (Window(span, spoken, heard),))


def led(
    chunk: Chunk,
    *answers: Answer,
    carries_times: bool = True,
    then: Callable[[Request], Answer] | None = None,
    ask: Ask | None = None,
) -> Led:
    """Lead a chunk through its answers; `then` gives those after the last."""
    family = ScriptedFamily(carries_times)
    task = ChunkTask(
        name="talk chunk 0",
        chunk=chunk,
        samples=np.zeros(chunk.span.end, np.float32),
        family=family,  # type: ignore[arg-type]
        ask=ask or Ask(0.0),
        max_new_tokens=100,
    )
    waiting = list(answers)
    request: Request | None = task.first_request()
    requests: list[Request] = []
    while request is not None:
        requests.append(request)
        assert len(requests) <= MAX_REQUESTS
        if waiting:
            answer = waiting.pop(0)
        else:
            assert then is not None, f"no answer for request {len(requests)}"
            answer = then(request)
        family.answers.append(answer)
        request = task.take(_finished(request, len(family.answers) - 1, answer))
    assert not waiting, waiting
    return Led(task, family, requests)


def _finished(request: Request, number: int, answer: Answer) -> Finished:
    loop = Loop(start=2, period=3, repeats=8) if answer.stop is LOOP else None
    tokens = (number,) * (26 if loop else 5)
    logprobs = (answer.logprob,) * (len(tokens) + (answer.stop is END))
    return Finished(
        request, tokens, logprobs, answer.stop, loop, KvUsage(steps=len(tokens)), None, None
    )


def _span(time_s: tuple[float, float]) -> SampleSpan:
    return SampleSpan(round(time_s[0] * 16_000), round(time_s[1] * 16_000))
