"""Stand-ins for the stages that load models: a pipeline of milliseconds with known results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from murmur_cli.asr.base import Recognition
from murmur_cli.diarization.base import NO_HINTS
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
        loud = float(np.abs(samples).max(initial=0.0)) > 0.01
        return (SampleSpan(0, len(samples)),) if loud else ()


@dataclass
class SpeaksThreeWords:
    """Says 'one two three' in every chunk; `before` is called first, and may raise."""

    before: Callable[[str], None] = lambda recording: None
    recordings: list[str] = field(default_factory=list)
    identity = IDENTITY
    precision = "exact"
    packing = None

    def transcribe(
        self, samples: Samples, chunks: Sequence[Chunk], recording: str, progress: ProgressHook
    ) -> Recognition:
        self.recordings.append(recording)
        self.before(recording)
        made = []
        for chunk in chunks:
            time = chunk.span.time
            segment = make_segment(SPOKEN, time.start_s, time.end_s, chunk_index=chunk.index)
            made.append(make_chunk_transcript([segment], chunk.index, kv=KvUsage()))
        return Recognition(tuple(made), "en")


class OneVoice:
    """The same voice throughout every chunk."""

    identities = (IDENTITY,)

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

    recogniser: Ready
    detector: Ready = field(default_factory=lambda: Ready(SpeechWhereLoud()))
    diarizer: Ready | None = field(default_factory=lambda: Ready(OneVoice()))
    packing: None = None

    @contextmanager
    def start(self, settings: Any, *_: Any) -> Iterator[FakeStages]:
        if not settings.diarize:
            self.diarizer = None
        yield self
