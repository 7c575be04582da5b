"""The whole result for one recording, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from murmur_cli.types.audio import AudioFacts
from murmur_cli.types.chunks import ChunkPlan
from murmur_cli.types.enrolment import Enrolment
from murmur_cli.types.model_identity import ModelIdentity
from murmur_cli.types.recognition import ChunkTranscript, KvUsage, Segment, Word
from murmur_cli.types.speakers import SpeakerTurn, StitchDecision


class SpeakersFrom(StrEnum):
    """Who told the speakers of a chunk apart."""

    RECOGNISER = "recogniser"
    """The recogniser itself says who speaks."""
    DIARIZER = "diarizer"
    """The local diarizer, by the voices."""


class Status(StrEnum):
    """Outcome of one recording."""

    OK = "ok"
    EMPTY = "empty"
    """No speech was found; the files are written, empty and valid."""
    PARTIAL = "partial"
    """The file ends before its header says; what is there was transcribed."""


@dataclass(frozen=True, slots=True)
class StageTiming:
    """Wall seconds of one stage."""

    stage: str
    wall_s: float


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is needed to repeat the run."""

    murmur_version: str
    models: tuple[ModelIdentity, ...]
    options: dict[str, Any]
    versions: dict[str, str]
    device: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """The whole result for one recording; what the writers get.

    `segments` and `turns` are sorted by start time and lie within the audio. `speakers` is in
    order of first speech. `speakers_from` is None without speakers, `enrolment` without known
    voices. Times are whole milliseconds.
    """

    session_id: str
    status: Status
    facts: AudioFacts
    speech_s: float
    language: str | None
    segments: tuple[Segment, ...]
    turns: tuple[SpeakerTurn, ...]
    speakers: tuple[str, ...]
    plan: ChunkPlan
    chunks: tuple[ChunkTranscript, ...]
    decisions: tuple[StitchDecision, ...]
    run: RunRecord
    timings: tuple[StageTiming, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    speakers_from: SpeakersFrom | None = None
    enrolment: Enrolment | None = None

    @property
    def words(self) -> tuple[Word, ...]:
        """All words, in the order of the segments."""
        return tuple(word for segment in self.segments for word in segment.words)

    @property
    def kv(self) -> KvUsage:
        """What decoding read, summed over the chunks."""
        return sum((chunk.kv for chunk in self.chunks), KvUsage())
