"""What kind of audio a recording is, and which size of chunks was measured to suit it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AudioKind(StrEnum):
    """How hard a recording is."""

    CLEAN = "clean"
    NOISY = "noisy"


@dataclass(frozen=True, slots=True)
class ChunkCurve:
    """The outcome of a sweep over chunk sizes for one model and kind of audio.

    Attributes:
        model: name of the recogniser, as `ModelChoice.name`.
        kind: of the recordings that were measured.
        chunk_s: the size to take; None is the whole recording.
        source: name of the recipe that holds it.
    """

    model: str
    kind: AudioKind
    chunk_s: float | None
    source: str
