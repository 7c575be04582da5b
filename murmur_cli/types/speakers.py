"""Local voices, global speakers and the evidence between them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from murmur_cli.types.spans import TimeSpan

Embedding = npt.NDArray[np.float32]
"""Speaker embedding, shape (dimension,), unit length."""


@dataclass(frozen=True, slots=True, order=True)
class LocalTurn:
    """A local speaker of one chunk talks; turns of different speakers may overlap.

    `clean_s` and `embedding` are of this turn alone, as `LocalSpeaker` has them of all; without
    an embedding the turn stays with its speaker.
    """

    span: TimeSpan
    local_speaker: int
    clean_s: float = field(default=0.0, compare=False)
    embedding: Embedding | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LocalSpeaker:
    """A voice found inside one chunk.

    `clean_s` counts seconds where it alone speaks, from which `embedding` was taken;
    `embedding` is None when there was too little clean speech. Voices of one `part` of a chunk
    are different people: who told them apart heard them together. A chunk that a recogniser
    needed several answers for has several parts.
    """

    chunk_index: int
    local_speaker: int
    clean_s: float
    embedding: Embedding | None
    part: int = 0


@dataclass(frozen=True, slots=True)
class ChunkDiarization:
    """Local turns and voices of one chunk.

    `channel` is the channel of the file that was heard, counted from 1, or None for the mix of
    all. Voices of different channels are different people.
    """

    chunk_index: int
    turns: tuple[LocalTurn, ...]
    speakers: tuple[LocalSpeaker, ...]
    channel: int | None = None


@dataclass(frozen=True, slots=True, order=True)
class SpeakerTurn:
    """A global speaker talks."""

    span: TimeSpan
    speaker: str


@dataclass(frozen=True, slots=True)
class MovedTurn:
    """A turn that sounds like another speaker than its local speaker; cosines in [-1, 1].

    `similarity` compares it with the rest of `speaker`, who has it now, `former_similarity` with
    the rest of the one that its local speaker belongs to.
    """

    span: TimeSpan
    clean_s: float
    speaker: str
    similarity: float
    former_similarity: float

    @property
    def margin(self) -> float:
        """By how much the new speaker is more similar."""
        return self.similarity - self.former_similarity


@dataclass(frozen=True, slots=True)
class StitchDecision:
    """Why a local speaker got its global label. Similarities are cosines in [-1, 1].

    `similarity` compares with the rest of its own cluster (None if alone), `runner_up` names
    the best other speaker (None if there is none). `moved` are its turns that went to others.
    """

    chunk_index: int
    local_speaker: int
    speaker: str
    clean_s: float
    similarity: float | None
    runner_up: str | None
    runner_up_similarity: float | None
    margin: float | None
    moved: tuple[MovedTurn, ...] = ()


@dataclass(frozen=True, slots=True)
class SpeakerTimeline:
    """Global turns in time order, the labels in order of first speech, and the evidence."""

    turns: tuple[SpeakerTurn, ...]
    speakers: tuple[str, ...]
    decisions: tuple[StitchDecision, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpeakerHints:
    """What the user said of the number of speakers; None means no hint."""

    exact: int | None = None
    minimum: int | None = None
    maximum: int | None = None
