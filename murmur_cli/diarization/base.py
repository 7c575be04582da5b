"""What a local diarizer does: who talks when inside one chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    ChunkTranscript,
    LocalTurn,
    ModelIdentity,
    SampleSource,
    SpeakerHints,
)

NO_HINTS = SpeakerHints()


@dataclass(frozen=True, slots=True)
class ToldTurn:
    """A turn as a recogniser tells it; see `Segment` for `part`."""

    turn: LocalTurn
    part: int = 0


class LocalDiarizer(Protocol):
    """Finds the voices of one chunk; knows nothing of the other chunks."""

    @property
    def identities(self) -> tuple[ModelIdentity, ...]:
        """The weights in use."""

    @property
    def voice_model(self) -> ModelIdentity:
        """Which of them the embeddings come from."""

    def diarize(
        self, samples: SampleSource, chunk: Chunk, *, hints: SpeakerHints = NO_HINTS
    ) -> ChunkDiarization:
        """Turns and voices of a chunk.

        Args:
            samples: the whole recording, 16 kHz.
            chunk: the stretch to diarize.
            hints: number of speakers inside this chunk (see `hints_for_chunk`).

        Returns:
            Turns sorted by time, within the chunk, counted from the start of the recording.
            Local speakers are numbered from 0 in order of first speech; each has a turn.
        """

    def voices(
        self, samples: SampleSource, chunk: Chunk, told: Sequence[ToldTurn]
    ) -> ChunkDiarization:
        """The voices of turns that the recogniser told; its numbers of speakers are kept.

        Args:
            samples: the whole recording, 16 kHz.
            chunk: the stretch that the turns are in.
            told: who talks when.
        """


def hints_for_chunk(hints: SpeakerHints, num_chunks: int) -> SpeakerHints:
    """What hints on a recording say of each of its chunks.

    A single chunk is the recording. One of several may hold fewer people than the recording,
    but not more: only the upper bound stays.
    """
    if num_chunks <= 1:
        return hints
    return SpeakerHints(maximum=hints.maximum if hints.exact is None else hints.exact)


def told_turns(heard: ChunkTranscript) -> list[ToldTurn]:
    """The turns of a recogniser that says who speaks."""
    return [
        ToldTurn(LocalTurn(segment.span, segment.local_speaker), segment.part)
        for segment in heard.segments
        if segment.local_speaker is not None
    ]
