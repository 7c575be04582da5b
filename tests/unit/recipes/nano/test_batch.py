"""Excerpts keep the positions of the chunk that they are cut from."""

from __future__ import annotations

import numpy as np

from nano.batch import Batch, make_row, row_positions
from nano.language import ANSWER, END, PAD, WIDTH
from nano.meeting import Meeting


def silence(frames: int, first_frame: int) -> Meeting:
    return Meeting(first_frame, np.zeros((frames, WIDTH), dtype=np.float32), ())


def test_positions_when_an_excerpt_lies_in_a_chunk() -> None:
    """Prompt 0 1, speech 2 + frame, suffix after 2 + 100 frames, output after 7 tokens more."""
    assert row_positions(silence(3, 10), 100, 7).tolist() == [0, 1, 12, 13, 14, 102, 110]


def test_positions_when_the_excerpt_is_the_chunk_then_without_a_gap() -> None:
    assert row_positions(silence(3, 0), 3, 0).tolist() == list(range(7))


def test_batch_when_outputs_differ_in_length_then_padded_on_the_right() -> None:
    rows = [make_row(seed, 40) for seed in range(3)]
    batch = Batch.of(rows)
    assert batch.frames.shape == (3, 40, WIDTH)
    for number, row in enumerate(rows):
        tokens = [token for token in batch.outputs[number].tolist() if token != PAD]
        assert tokens == [ANSWER, *row.meeting.tokens]
        assert tokens[-1] == END
        assert batch.first_frame[number] == row.meeting.first_frame
        looks = batch.looks[number] + row.meeting.first_frame
        first = row.meeting.parts[0]
        assert looks[:4].tolist() == [list(first.spans[0])] * 4
        assert looks[4].tolist() == list(first.spans[1])
        assert batch.looks[number, len(tokens) - 2].tolist() == [0, 0]
    assert batch.positions.shape == (3, 2 + 40 + batch.outputs.shape[1])
