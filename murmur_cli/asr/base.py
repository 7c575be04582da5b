"""What a recogniser is: chunks in, timed words out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from murmur_cli.progress import ProgressHook
from murmur_cli.types import Chunk, ChunkTranscript, ModelIdentity, PackingRule, SampleSource


@dataclass(frozen=True, slots=True)
class Recognition:
    """The recogniser's result for one recording: one transcript per chunk, in order."""

    chunks: tuple[ChunkTranscript, ...]
    language: str | None


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

    def transcribe(
        self, samples: SampleSource, chunks: Sequence[Chunk], recording: str, progress: ProgressHook
    ) -> Recognition:
        """Transcribe the chunks of one recording. Times count from its start."""
