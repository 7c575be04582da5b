"""What a recogniser is: chunks of many recordings in, timed words of each out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from murmur_cli.progress import ProgressHook
from murmur_cli.types import Chunk, ChunkTranscript, ModelIdentity, PackingRule, SampleSource


@dataclass(frozen=True, slots=True)
class Job:
    """One recording to recognise; its name is unique in the session."""

    recording: str
    samples: SampleSource
    chunks: Sequence[Chunk]


@dataclass(frozen=True, slots=True)
class Recognition:
    """The recogniser's result for one recording: one transcript per chunk, in order.

    Attributes:
        chunks: times count from the start of the recording.
        language: of the recording.
        wall_s: this recording's share of the work. A step for many rows is shared out evenly
            among them, so the shares of all recordings add up to the time that the session took.
        notes: what happened on the way that a reader should know.
    """

    chunks: tuple[ChunkTranscript, ...]
    language: str | None
    wall_s: float = field(default=0.0, compare=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recognised:
    """A recording that is done: its result, or the error that it alone failed with."""

    recording: str
    result: Recognition | Exception


class RecognitionSession(Protocol):
    """One queue for the recordings of a run. Used by one thread."""

    def submit(self, job: Job, *, more_follow: bool) -> None:
        """Take a recording in. Without `more_follow` memory is planned for what is there.

        Raises:
            ModelError: the recogniser cannot go on at all.
        """

    @property
    def busy(self) -> bool:
        """Whether a recording is not done."""

    @property
    def wants_more(self) -> bool:
        """Whether so little waits that places of the batch may soon stay empty."""

    def step(self) -> list[Recognised]:
        """Work for a moment; the recordings that are done now.

        Raises:
            ModelError: the recogniser cannot go on at all.
        """

    def close(self) -> None:
        """End, whatever is left, and free what the session holds."""


class AsrBackend(Protocol):
    """One recogniser with its weights loaded."""

    @property
    def identity(self) -> ModelIdentity:
        """Which weights answer."""

    @property
    def precision(self) -> str:
        """Number format of the arithmetic, such as 'float32'."""

    @property
    def packing(self) -> PackingRule | None:
        """How windows must be packed; None if a chunk is one request."""

    @property
    def names_speakers(self) -> bool:
        """Whether its segments carry `local_speaker`, so that nobody else need find the turns."""

    def open_session(self, progress: ProgressHook) -> RecognitionSession:
        """Begin to recognise; one session at a time."""
