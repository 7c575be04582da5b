"""A local speaker with its turns, in an order that no numbering can change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from murmur_cli.types import ChunkDiarization, Embedding, LocalSpeaker, LocalTurn, TimeSpan

_MIN_WEIGHT_S = 0.1


@dataclass(frozen=True, slots=True)
class LocalVoice:
    """One (chunk, local speaker) that talks.

    `embedding` has unit length; None if the diarizer gave none, or one that is zero or not
    finite. `turns` are sorted and never empty; `sounds` are the same turns with what is known of
    their voice, or nothing.
    """

    chunk_index: int
    local_speaker: int
    clean_s: float
    embedding: Embedding | None
    turns: tuple[TimeSpan, ...]
    part: int = 0
    channel: int | None = None
    sounds: tuple[LocalTurn, ...] = ()

    @property
    def heard_in(self) -> tuple[int, int]:
        """Chunk and part: who heard its voices together told them apart."""
        return self.chunk_index, self.part

    def heard_beside(self, other: LocalVoice) -> bool:
        """Whether the two are known to be different people: told apart, or of two channels."""
        return self.heard_in == other.heard_in or self.channel != other.channel

    @property
    def weight_s(self) -> float:
        """How much its embedding counts: the clean seconds, never nothing."""
        return max(self.clean_s, _MIN_WEIGHT_S)

    @property
    def span(self) -> TimeSpan:
        """From the first turn to the end of the last."""
        return TimeSpan(self.turns[0].start_s, max(turn.end_s for turn in self.turns))

    @property
    def talk_s(self) -> float:
        """Seconds of all turns."""
        return sum(turn.duration_s for turn in self.turns)

    def gap_s(self, other: LocalVoice) -> float:
        """Seconds between the nearest turns of the two."""
        mine = np.array([(turn.start_s, turn.end_s) for turn in self.turns])
        theirs = np.array([(turn.start_s, turn.end_s) for turn in other.turns])
        before = mine[:, None, 0] - theirs[None, :, 1]
        after = theirs[None, :, 0] - mine[:, None, 1]
        return max(0.0, float(np.maximum(before, after).min()))


def collect_voices(chunks: Iterable[ChunkDiarization]) -> list[LocalVoice]:
    """Local speakers of all chunks by time of speech; those without a turn are left out.

    The order depends on what was said when, not on the order of the chunks or on the numbers
    of local speakers.
    """
    voices = [voice for chunk in chunks for voice in _voices_of(chunk)]
    return sorted(voices, key=_by_time)


def _voices_of(chunk: ChunkDiarization) -> list[LocalVoice]:
    turns: dict[int, list[LocalTurn]] = defaultdict(list)
    for turn in sorted(chunk.turns):
        turns[turn.local_speaker].append(replace(turn, embedding=_usable(turn.embedding)))
    known = {speaker.local_speaker: speaker for speaker in chunk.speakers}
    voices = []
    for number, spoken in turns.items():
        unknown = LocalSpeaker(chunk.chunk_index, number, 0.0, None)
        speaker = known.get(number, unknown)
        vector = _usable(speaker.embedding)
        voices.append(
            LocalVoice(
                chunk.chunk_index,
                number,
                speaker.clean_s,
                vector,
                tuple(turn.span for turn in spoken),
                speaker.part,
                chunk.channel,
                tuple(spoken),
            )
        )
    return voices


def _usable(embedding: Embedding | None) -> Embedding | None:
    if embedding is None:
        return None
    norm = float(np.linalg.norm(embedding))
    if not np.isfinite(norm) or norm == 0.0:
        return None
    scaled: Embedding = embedding / np.float32(norm)
    return scaled


def _by_time(voice: LocalVoice) -> tuple[tuple[TimeSpan, ...], int, bytes]:
    vector = b"" if voice.embedding is None else voice.embedding.tobytes()
    return voice.turns, voice.chunk_index, vector
