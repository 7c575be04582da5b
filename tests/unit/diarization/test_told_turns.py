"""Clean speech of told speakers, worked out by hand from their turns."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.diarization.frame_grid import FRAME_S, FrameGrid, plan_windows
from murmur_cli.diarization.told_turns import clean_pieces
from murmur_cli.types import LocalTurn, SampleSpan, TimeSpan

START_S = 100.0
CHUNK = SampleSpan(1_600_000, 1_600_000 + 20 * 16_000)


def turn(start_s: float, end_s: float, speaker: int) -> LocalTurn:
    """Seconds of the chunk."""
    return LocalTurn(TimeSpan(START_S + start_s, START_S + end_s), speaker)


@pytest.fixture
def grid() -> FrameGrid:
    return plan_windows(CHUNK, 5.0)


def clean_s(
    grid: FrameGrid, *turns: LocalTurn, silent_s: tuple[float, float] = (0.0, 0.0)
) -> dict[int, list[tuple[float, float]]]:
    """Stretches of the chunk in seconds, pieces that touch joined; within a frame."""
    has_speech = np.ones(grid.num_frames, dtype=np.bool_)
    has_speech[round(silent_s[0] / FRAME_S) : round(silent_s[1] / FRAME_S)] = False
    found: dict[int, list[tuple[float, float]]] = {}
    for speaker, pieces in clean_pieces(grid, turns, has_speech).items():
        joined: list[list[int]] = []
        for piece in pieces:
            assert piece.units == (speaker,)
            assert piece.frames.tolist() == list(range(piece.frames[0], piece.frames[-1] + 1))
            assert 0.4 <= piece.frames.size * FRAME_S <= 3.02
            if joined and joined[-1][1] == piece.frames[0]:
                joined[-1][1] = int(piece.frames[-1]) + 1
            else:
                joined.append([int(piece.frames[0]), int(piece.frames[-1]) + 1])
        found[speaker] = [(start * FRAME_S, end * FRAME_S) for start, end in joined]
    return found


def near(*stretches: tuple[float, float]) -> list[object]:
    return [pytest.approx(stretch, abs=2 * FRAME_S) for stretch in stretches]


def test_pieces_when_two_talk_at_once_then_neither_has_that_nor_the_edges(
    grid: FrameGrid,
) -> None:
    """A 0–8, B 7–12: A alone to 7, B alone from 8; .2 s at the start of A, at the end of B."""
    assert clean_s(grid, turn(0.0, 8.0, 0), turn(7.0, 12.0, 1)) == {
        0: near((0.2, 7.0)),
        1: near((8.0, 11.8)),
    }


def test_pieces_when_a_turn_is_within_anothers_then_the_outer_one_has_both_sides(
    grid: FrameGrid,
) -> None:
    assert clean_s(grid, turn(0.0, 10.0, 0), turn(4.0, 5.0, 1)) == {
        0: near((0.2, 4.0), (5.0, 9.8)),
        1: [],
    }


def test_pieces_when_nobody_is_heard_then_not_there(grid: FrameGrid) -> None:
    found = clean_s(grid, turn(0.0, 10.0, 0), silent_s=(3.0, 6.0))
    assert found == {0: near((0.2, 3.0), (6.0, 9.8))}


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([turn(5.0, 5.7, 0)], []),  # .3 s without its edges
        ([turn(5.0, 5.0, 0)], []),
        ([turn(5.0, 6.0, 0)], [(5.2, 5.8)]),
        ([turn(-3.0, 4.0, 0)], [(0.0, 3.8)]),  # begins before the chunk
        ([turn(18.0, 30.0, 0)], [(18.2, 20.0)]),
        ([turn(25.0, 30.0, 0)], []),
        ([turn(2.0, 4.0, 0), turn(4.0, 6.0, 0)], [(2.2, 3.8), (4.2, 5.8)]),
        ([turn(2.0, 5.0, 0), turn(4.0, 8.0, 0)], [(2.2, 7.8)]),  # not two people at once
    ],
)
def test_pieces_of_one_speaker(
    grid: FrameGrid, turns: list[LocalTurn], expected: list[tuple[float, float]]
) -> None:
    assert clean_s(grid, *turns) == {0: near(*expected)}


def test_pieces_when_nobody_is_told_then_none(grid: FrameGrid) -> None:
    assert clean_pieces(grid, [], np.ones(grid.num_frames, dtype=np.bool_)) == {}
