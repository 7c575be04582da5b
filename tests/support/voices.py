"""Made-up voices: directions in space with known cosines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from murmur_cli.types import (
    ChunkDiarization,
    LocalSpeaker,
    LocalTurn,
    TimeSpan,
)

DIMENSION = 16
NO_SOUNDS: Mapping[tuple[float, float], npt.NDArray[np.float32]] = {}


def person(number: int, noise: float = 0.0, seed: int = 0) -> npt.NDArray[np.float32]:
    """Unit vector near axis `number`; `noise` is the length of what is added across it."""
    vector = np.zeros(DIMENSION)
    vector[number] = 1.0
    if noise:
        across = np.random.default_rng(seed).normal(size=DIMENSION)
        across[number] = 0.0
        vector += noise * across / np.linalg.norm(across)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def local_chunk(
    index: int,
    voices: Sequence[tuple[Sequence[tuple[float, float]], npt.NDArray[np.float32] | None, float]],
    parts: Sequence[int] = (),
    sounds: Mapping[tuple[float, float], npt.NDArray[np.float32]] = NO_SOUNDS,
) -> ChunkDiarization:
    """A chunk of (turns, embedding, clean seconds) in the order of local numbers.

    Args:
        index: of the chunk.
        voices: of the local speakers.
        parts: of each voice, if not all are of one.
        sounds: embeddings of single turns, by their times; such a turn is clean to its end.
    """
    turns = [
        LocalTurn(
            TimeSpan(start, end),
            number,
            end - start if (start, end) in sounds else 0.0,
            sounds.get((start, end)),
        )
        for number, (spans, _, _) in enumerate(voices)
        for start, end in spans
    ]
    speakers = [
        LocalSpeaker(index, number, clean_s, embedding, parts[number] if parts else 0)
        for number, (_, embedding, clean_s) in enumerate(voices)
    ]
    return ChunkDiarization(index, tuple(sorted(turns)), tuple(speakers))
