from murmur_cli.diarization.clean_speech import Piece, find_pieces
from support.slots import drawn_segmentation

# 400 frames are 6.75 s; two windows that start at 0 and at 100 overlap on 100..400.
STARTS = (0, 100)


def _shown(pieces: tuple[Piece, ...]) -> list[tuple[tuple[int, ...], int, int, int]]:
    return [
        (piece.units, int(piece.frames[0]), int(piece.frames[-1]) + 1, piece.frames.size)
        for piece in pieces
    ]


def test_pieces_when_windows_agree_then_each_frame_counts_once_for_both_units() -> None:
    talk = {(0, 0): ((10, 90), (120, 250)), (1, 2): ((120, 250),)}
    pieces = find_pieces(drawn_segmentation(400, STARTS, talk))
    # Unit (1, 2) has number 1 * 3 + 2.
    assert _shown(pieces) == [((0,), 10, 90, 80), ((0, 5), 120, 250, 130)]


def test_pieces_when_two_talk_at_once_then_overlap_is_left_out() -> None:
    talk = {(0, 0): ((0, 80),), (0, 1): ((50, 95),)}
    pieces = find_pieces(drawn_segmentation(400, (0,), talk))
    # What is left of slot 1 is .25 s, too short for a piece.
    assert _shown(pieces) == [((0,), 0, 50, 50)]


def test_pieces_when_stretch_is_long_then_equal_parts_of_at_most_3_s() -> None:
    talk = {(0, 0): ((0, 400),)}
    pieces = find_pieces(drawn_segmentation(400, (0,), talk))
    # 400 frames at most 178 each: three parts.
    assert _shown(pieces) == [
        ((0,), 0, 134, 134),
        ((0,), 134, 267, 133),
        ((0,), 267, 400, 133),
    ]


def test_pieces_when_stretches_are_short_then_pooled() -> None:
    talk = {(0, 0): ((0, 20), (50, 70), (100, 200))}
    pieces = find_pieces(drawn_segmentation(400, (0,), talk))
    # 20 frames are .34 s, under .6 s; the two together are .68 s.
    assert _shown(pieces) == [((0,), 0, 70, 40), ((0,), 100, 200, 100)]


def test_pieces_when_windows_contradict_everywhere_then_unit_speaks_for_itself() -> None:
    talk = {(0, 0): ((120, 250),), (1, 0): ((120, 250),), (1, 1): ((120, 250),)}
    pieces = find_pieces(drawn_segmentation(400, STARTS, talk))
    assert _shown(pieces) == [((0,), 120, 250, 130)]


def test_pieces_when_silence_then_none() -> None:
    assert find_pieces(drawn_segmentation(400, STARTS, {})) == ()
