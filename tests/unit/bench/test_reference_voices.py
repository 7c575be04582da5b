"""Pieces with the speakers of a reference; frames are 16.875 ms."""

from __future__ import annotations

import numpy as np

from murmur_cli.bench.bench_audio import Spoken
from murmur_cli.bench.reference_voices import NOBODY, ReferenceVoices
from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.types import Chunk, SampleSpan, SpeakerHints

SAMPLES = np.zeros(16_000 * 20, dtype=np.float32)
CHUNK = Chunk(0, SampleSpan(16_000 * 10, 16_000 * 20), ())
TURNS = (
    Spoken(0, 5, "A"),
    Spoken(10, 12, "C"),
    Spoken(11, 14, "B"),
)


def _piece(start_s: float, end_s: float) -> Piece:
    """Frames from one time to another, counted from the chunk's start."""
    return Piece((0,), np.arange(round(start_s / 0.016875), round(end_s / 0.016875)))


def test_voices_when_pieces_lie_in_turns_then_who_talks_most_and_numbers_without_gaps() -> None:
    pieces = [_piece(0.0, 1.0), _piece(1.0, 3.0), _piece(0.0, 1.5), _piece(6.0, 7.0)]
    embeddings, voice = ReferenceVoices(TURNS)(SAMPLES, CHUNK, pieces, SpeakerHints())
    # A is not heard in this chunk: B and C are 0 and 1, at places 1 and 2 of the recording.
    assert voice.tolist() == [1, 0, 1, NOBODY]
    assert [None if one is None else one.tolist() for one in embeddings] == [
        [0, 0, 1],
        [0, 1, 0],
        [0, 0, 1],
        None,
    ]


def test_voices_when_the_reference_is_empty_then_nobody() -> None:
    embeddings, voice = ReferenceVoices(())(SAMPLES, CHUNK, [_piece(0, 1)], SpeakerHints())
    assert voice.tolist() == [NOBODY]
    assert embeddings == [None]
