"""Stand-ins for the stages that load models: a pipeline of milliseconds with known results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from murmur_cli.asr.base import Job, Recognised, Recognition
from murmur_cli.diarization.base import NO_HINTS, ToldTurn
from murmur_cli.progress import ProgressHook
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    KvUsage,
    LocalSpeaker,
    LocalTurn,
    ModelIdentity,
    Samples,
    SampleSpan,
    SpeakerHints,
)
from support.factories import make_chunk_transcript, make_segment

IDENTITY = ModelIdentity("stand-in", "tests", "0" * 64, "MIT")
SPOKEN = "one two three"


class SpeechWhereLoud:
    """The whole recording is speech if any of it is loud."""

    identity = IDENTITY

    def detect(self, samples: Samples) -> tuple[SampleSpan, ...]:
        loud = float(np.abs(samples[:]).max(initial=0.0)) > 0.01
        return (SampleSpan(0, len(samples)),) if loud else ()


@dataclass
class SpeaksThreeWords:
    """Says 'one two three' in every chunk; `before` is called first, and may raise.

    `recordings` are those that were begun. Its session takes `slots` recordings at a time, and
    is done with one of them at each step, the last submitted first.
    """

    before: Callable[[str], None] = lambda recording: None
    slots: int = 1
    kv: KvUsage = field(default_factory=KvUsage)
    recordings: list[str] = field(default_factory=list)
    sessions: list[TakesLastFirst] = field(default_factory=list)
    identity = IDENTITY
    precision = "exact"
    packing = None
    names_speakers = False

    def open_session(self, progress: ProgressHook) -> TakesLastFirst:
        self.sessions.append(TakesLastFirst(self))
        return self.sessions[-1]

    def recognise(self, job: Job) -> Recognition:
        self.recordings.append(job.recording)
        self.before(job.recording)
        made = []
        for chunk in job.chunks:
            time = chunk.span.time
            segment = make_segment(SPOKEN, time.start_s, time.end_s, chunk_index=chunk.index)
            made.append(make_chunk_transcript([segment], chunk.index, kv=self.kv))
        return Recognition(tuple(made), "en", wall_s=1.5)


@dataclass
class NamesSpeakers(SpeaksThreeWords):
    """Says the three words as segments of the local speakers given, each a third of the chunk.

    With `overlap_s` each begins so much before the one before has ended.
    """

    speakers: tuple[int | None, ...] = (0, 1, 0)
    overlap_s: float = 0.0
    names_speakers = True

    def recognise(self, job: Job) -> Recognition:
        made = []
        for chunk in job.chunks:
            time = chunk.span.time
            third_s = time.duration_s / 3
            segments = [
                make_segment(
                    word,
                    time.start_s + max(0.0, at * third_s - self.overlap_s),
                    time.start_s + (at + 1) * third_s,
                    chunk_index=chunk.index,
                    local_speaker=speaker,
                )
                for at, (word, speaker) in enumerate(
                    zip(SPOKEN.split(), self.speakers, strict=True)
                )
            ]
            made.append(make_chunk_transcript(segments, chunk.index))
        return Recognition(tuple(made), "en", wall_s=1.5)


@dataclass
class TakesLastFirst:
    """The session of SpeaksThreeWords; `submitted` says of each recording whether more follow."""

    backend: SpeaksThreeWords
    jobs: list[Job] = field(default_factory=list)
    submitted: list[tuple[str, bool]] = field(default_factory=list)
    is_closed: bool = False

    def submit(self, job: Job, *, more_follow: bool) -> None:
        assert not self.is_closed
        self.jobs.append(job)
        self.submitted.append((job.recording, more_follow))

    @property
    def busy(self) -> bool:
        return bool(self.jobs)

    @property
    def wants_more(self) -> bool:
        return len(self.jobs) < self.backend.slots

    def step(self) -> list[Recognised]:
        assert not self.is_closed
        job = self.jobs.pop()
        try:
            return [Recognised(job.recording, self.backend.recognise(job))]
        except FaultOfAll as fault:
            raise fault.error from None
        except Exception as error:
            return [Recognised(job.recording, error)]

    def close(self) -> None:
        self.is_closed = True
        self.jobs.clear()


class FaultOfAll(Exception):
    """Raised by `before`, it makes the whole step fail with `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class OneVoice:
    """The same voice throughout every chunk; told speakers have a voice each, by their number."""

    identities = (IDENTITY,)
    voice_model = IDENTITY

    def voices(self, samples: Samples, chunk: Chunk, told: Sequence[ToldTurn]) -> ChunkDiarization:
        part = {one.turn.local_speaker: one.part for one in told}
        voices = np.eye(max(part, default=0) + 1, dtype=np.float32)
        return ChunkDiarization(
            chunk.index,
            tuple(one.turn for one in told),
            tuple(
                LocalSpeaker(chunk.index, number, 1.0, voices[number], part[number])
                for number in part
            ),
        )

    def diarize(
        self, samples: Samples, chunk: Chunk, *, hints: SpeakerHints = NO_HINTS
    ) -> ChunkDiarization:
        time = chunk.span.time
        voice = LocalSpeaker(chunk.index, 0, time.duration_s, np.array([1, 0], np.float32))
        return ChunkDiarization(chunk.index, (LocalTurn(time, 0),), (voice,))


@dataclass
class Ready:
    """A stage that is loaded already; `failure` is raised instead of giving it."""

    stage: Any
    failure: Exception | None = None

    def get(self) -> Any:
        if self.failure is not None:
            raise self.failure
        return self.stage


@dataclass
class FakeStages:
    """Stages as the pipeline sees them; `start` takes the place of `start_stages`."""

    recogniser: Ready | None
    detector: Ready = field(default_factory=lambda: Ready(SpeechWhereLoud()))
    diarizer: Ready | None = field(default_factory=lambda: Ready(OneVoice()))
    packing: None = None

    @contextmanager
    def start(self, settings: Any, *_: Any) -> Iterator[FakeStages]:
        if not settings.diarize:
            self.diarizer = None
        yield self
