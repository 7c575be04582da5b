"""The voices of turns that somebody else told: a recogniser, or another diarizer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.base import ToldTurn
from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.embedding import Embedder, unit_length
from murmur_cli.diarization.fbank import log_mel
from murmur_cli.diarization.frame_grid import FRAME_S, WINDOW_SAMPLES, plan_windows
from murmur_cli.diarization.piece_embeddings import embed_pieces
from murmur_cli.diarization.told_turns import clean_pieces
from murmur_cli.timebase import to_seconds
from murmur_cli.types import Chunk, ChunkDiarization, Embedding, LocalSpeaker, SampleSource


def voices_of_turns(
    embedder: Embedder, samples: SampleSource, chunk: Chunk, told: Sequence[ToldTurn]
) -> ChunkDiarization:
    """See `LocalDiarizer.voices`."""
    turns = tuple(sorted(one.turn for one in told))
    part = {one.turn.local_speaker: one.part for one in told}
    grid = plan_windows(chunk.span, to_seconds(WINDOW_SAMPLES))
    by_speaker = clean_pieces(grid, turns, grid.frames_with(chunk.speech))
    pieces = [piece for own in by_speaker.values() for piece in own]
    features = log_mel(samples[chunk.span.start : chunk.span.end])
    embeddings = embed_pieces(pieces, partial(embedder.embed, features))
    speaker = np.array([piece.units[0] for piece in pieces], dtype=np.int64)
    return ChunkDiarization(
        chunk.index,
        turns,
        tuple(
            LocalSpeaker(
                chunk.index,
                local,
                *voice_of(pieces, embeddings, speaker == local),
                part=part[local],
            )
            for local in by_speaker
        ),
    )


def voice_of(
    pieces: Sequence[Piece],
    embeddings: Sequence[Embedding | None],
    mask: npt.NDArray[np.bool_],
) -> tuple[float, Embedding | None]:
    """Seconds of the pieces in the mask, and the mean of their embeddings, weighted by length."""
    rows = np.flatnonzero(mask).tolist()
    lengths = [pieces[row].frames.size * FRAME_S for row in rows]
    weighted = [
        length * vector
        for length, row in zip(lengths, rows, strict=True)
        if (vector := embeddings[row]) is not None
    ]
    return sum(lengths), unit_length(np.sum(weighted, axis=0)) if weighted else None
