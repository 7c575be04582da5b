"""Voices of single turns; a frame is 16.875 ms."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.frame_grid import FRAME_S
from murmur_cli.diarization.turn_voices import voices_of_spans
from support.voices import person


def test_voices_when_pieces_lie_in_spans_then_means_weighted_by_their_frames() -> None:
    pieces = [
        Piece((0,), np.arange(10, 40)),
        Piece((0,), np.arange(40, 50)),
        Piece((0,), np.array([55, 56, 99, 100, 101])),  # pooled from two turns, one frame outside
        Piece((1,), np.arange(10, 50)),  # of another voice
        Piece((0,), np.arange(105, 108)),  # without an embedding
    ]
    vectors = [person(0), person(1), person(2), person(3), None]
    mask = np.array([True, True, True, False, True])
    first, second, third = voices_of_spans(pieces, vectors, mask, [(5, 55), (60, 90), (100, 120)])
    assert first[0] == pytest.approx(40 * FRAME_S)
    assert first[1] is not None
    expected = np.array([30, 10, 0]) / np.hypot(30, 10)
    np.testing.assert_allclose(first[1][:3], expected, atol=1e-6)
    assert second == (0.0, None)
    assert third[0] == pytest.approx(2 * FRAME_S)
    assert third[1] is not None
    np.testing.assert_allclose(third[1], person(2), atol=1e-6)
