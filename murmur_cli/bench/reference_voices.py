"""Voices of pieces as the reference has them: what perfect clustering would give.

The floor of a diarizer's errors: its speech, its overlaps and its cuts, but every stretch of
clear speech with its true speaker, in a chunk and across chunks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from murmur_cli.bench.bench_audio import Spoken
from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.frame_grid import FRAME_SAMPLES
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Chunk, Embedding, SampleSource, SpeakerHints
from murmur_cli.voice_clustering import Labels

NOBODY = -1


class ReferenceVoices:
    """A `PieceVoices` that knows the turns of the recording.

    A piece is of the speaker who talks in most of its frames; its embedding is 1 at that
    speaker's place and 0 elsewhere. Without a speaker it has neither.
    """

    def __init__(self, turns: Sequence[Spoken]) -> None:
        """Keep who talks when."""
        self._speakers = tuple(sorted({turn.speaker for turn in turns}))
        self._turns = turns

    def __call__(
        self, samples: SampleSource, chunk: Chunk, pieces: Sequence[Piece], hints: SpeakerHints
    ) -> tuple[list[Embedding | None], Labels]:
        """See `PieceVoices`; the hints are not needed."""
        speaker = [self._speaker(chunk, piece) for piece in pieces]
        places = np.eye(len(self._speakers), dtype=np.float32)
        embeddings = [None if found == NOBODY else places[found] for found in speaker]
        # Numbered from 0 without gaps, as those who are heard in this chunk only.
        number = {found: at for at, found in enumerate(sorted(set(speaker) - {NOBODY}))}
        voice: Labels = np.array([number.get(found, NOBODY) for found in speaker], dtype=np.int64)
        return embeddings, voice

    def _speaker(self, chunk: Chunk, piece: Piece) -> int:
        middles_s = (chunk.span.start + (piece.frames + 0.5) * FRAME_SAMPLES) / SAMPLE_RATE_HZ
        talks = [
            sum(
                int(((middles_s >= turn.start_s) & (middles_s < turn.end_s)).sum())
                for turn in self._turns
                if turn.speaker == speaker
            )
            for speaker in self._speakers
        ]
        return int(np.argmax(talks)) if any(talks) else NOBODY
