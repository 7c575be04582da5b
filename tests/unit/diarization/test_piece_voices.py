import numpy as np
import pytest

from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.piece_voices import VoiceRule, gather, voices_of_pieces
from murmur_cli.types import SpeakerHints
from support.voices import person

NO_HINTS = SpeakerHints()
RULE = VoiceRule(threshold=0.5, core_s=1.5, context=0.1)
LONG, SHORT = 120, 40  # frames: 2.0 s and .7 s


def _piece(units: tuple[int, ...], frames: int = LONG, start: int = 0) -> Piece:
    return Piece(units, np.arange(start, start + frames))


def test_voices_when_two_people_then_two_in_order() -> None:
    pieces = [_piece((0,)), _piece((4,)), _piece((6,)), _piece((10,))]
    vectors = [person(3), person(1), person(3, 0.4, 1), person(1, 0.4, 2)]
    assert voices_of_pieces(pieces, vectors, RULE, NO_HINTS).tolist() == [0, 1, 0, 1]


def test_voices_when_piece_has_no_embedding_then_none() -> None:
    pieces = [_piece((0,)), _piece((1,))]
    assert voices_of_pieces(pieces, [person(0), None], RULE, NO_HINTS).tolist() == [0, -1]
    assert voices_of_pieces(pieces, [None, None], RULE, NO_HINTS).tolist() == [-1, -1]
    assert voices_of_pieces([], [], RULE, NO_HINTS).tolist() == []


def test_apart_when_some_window_hears_two_slots_then_true() -> None:
    # Units 0..2 are window 0, 3..5 window 1.
    pieces = [_piece((0, 3)), _piece((0, 4)), _piece((1, 3)), _piece((7,))]
    apart = gather(pieces, [person(k) for k in range(4)], RULE).apart
    assert apart.astype(int).tolist() == [
        [0, 1, 1, 0],
        [1, 0, 1, 0],
        [1, 1, 0, 0],
        [0, 0, 0, 0],
    ]


def test_smoothed_when_slot_has_another_piece_then_a_tenth_of_it_is_taken_in() -> None:
    evidence = gather([_piece((0,)), _piece((0,))], [person(0), person(1)], RULE)
    expected = np.array([1.0, 0.1]) / np.hypot(1.0, 0.1)
    assert evidence.smoothed[0, :2].tolist() == pytest.approx(expected.tolist())


def test_voices_when_piece_is_short_then_attached_last_to_the_most_similar() -> None:
    pieces = [_piece((0,)), _piece((4,)), _piece((8,), SHORT)]
    vectors = [person(0), person(1), person(1, 3.0, 5)]  # cosine to person 1 only .3
    assert voices_of_pieces(pieces, vectors, RULE, NO_HINTS).tolist() == [0, 1, 1]


def test_voices_when_short_piece_is_heard_beside_everyone_then_own_voice() -> None:
    pieces = [_piece((0,)), _piece((1,), SHORT)]
    vectors = [person(0), person(1)]
    assert voices_of_pieces(pieces, vectors, RULE, NO_HINTS).tolist() == [0, 1]
    bounded = voices_of_pieces(pieces, vectors, RULE, SpeakerHints(maximum=1))
    assert bounded.tolist() == [0, 0]


def _at(cosine: float) -> np.ndarray:
    """Of that cosine to person 0."""
    vector = cosine * person(0) + np.sqrt(1 - cosine**2) * person(1)
    return vector.astype(np.float32)


@pytest.mark.parametrize(
    ("cosine", "frames", "expected"),
    [
        (0.62, LONG, [0, 0]),  # whatever the windows say
        (0.58, LONG, [0, 1]),
        (0.58, 110, [0, 0]),  # under 2 s of clean speech
        (0.52, SHORT, [0, 0]),
        (0.48, SHORT, [0, 1]),
    ],
)
def test_voices_when_windows_keep_them_apart_then_one_if_they_sound_alike(
    cosine: float, frames: int, expected: list[int]
) -> None:
    pieces = [_piece((0,), 3 * LONG), _piece((1,), frames, start=3 * LONG)]
    found = voices_of_pieces(pieces, [person(0), _at(cosine)], RULE, NO_HINTS)
    assert found.tolist() == expected
    two = voices_of_pieces(pieces, [person(0), _at(cosine)], RULE, SpeakerHints(minimum=2))
    assert two.tolist() == [0, 1]


def test_voices_when_one_of_three_is_joined_then_numbers_have_no_gap() -> None:
    pieces = [_piece((0,)), _piece((1,), start=LONG), _piece((2,), start=2 * LONG)]
    found = voices_of_pieces(pieces, [person(0), _at(0.9), person(5)], RULE, NO_HINTS)
    assert found.tolist() == [0, 0, 1]


def test_voices_when_all_pieces_are_short_then_they_still_find_a_voice() -> None:
    pieces = [_piece((0,), SHORT), _piece((4,), SHORT), _piece((8,), SHORT)]
    vectors = [person(0), person(1), person(0, 0.4, 1)]
    assert voices_of_pieces(pieces, vectors, RULE, NO_HINTS).tolist() == [0, 1, 0]


def test_voices_when_slot_mixes_two_people_then_pieces_settle_with_their_own() -> None:
    # The network gave slot 0 to person 0 throughout; its third piece is person 1.
    pieces = [_piece((0,)), _piece((0,)), _piece((0,)), _piece((3,)), _piece((6,))]
    vectors = [person(0), person(0, 0.3, 1), person(1, 0.3, 2), person(1), person(1, 0.3, 3)]
    assert voices_of_pieces(pieces, vectors, RULE, NO_HINTS).tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("hints", "count"),
    [
        (SpeakerHints(exact=1), 1),
        (SpeakerHints(exact=3), 3),
        (SpeakerHints(exact=4), 4),
        (SpeakerHints(minimum=3), 3),
        (SpeakerHints(maximum=1), 1),
        (SpeakerHints(minimum=1, maximum=5), 2),
        (SpeakerHints(exact=9), 4),
    ],
)
def test_voices_when_hinted_then_obeyed_as_far_as_there_are_pieces(
    hints: SpeakerHints, count: int
) -> None:
    pieces = [_piece((0,)), _piece((1,)), _piece((3,)), _piece((4,))]
    vectors = [person(0), person(1), person(0, 0.4, 1), person(1, 0.4, 2)]
    labels = voices_of_pieces(pieces, vectors, RULE, hints)
    assert sorted(set(labels.tolist())) == list(range(count))
