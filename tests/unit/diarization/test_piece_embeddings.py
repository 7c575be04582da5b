from collections.abc import Sequence

import numpy as np
import pytest

from murmur_cli.diarization.clean_speech import Frames, Piece
from murmur_cli.diarization.piece_embeddings import embed_pieces
from murmur_cli.types import Embedding

ANNA, BERT = np.eye(2, dtype=np.float32)


class _Network:
    """Knows who talks from which frame on; writes down what it was asked."""

    def __init__(self, voices: dict[int, Embedding | None]) -> None:
        self.voices = voices
        self.asked: list[list[int]] = []

    def __call__(self, stretches: Sequence[Frames]) -> list[Embedding | None]:
        firsts = [int(frames[0]) for frames in stretches]
        self.asked.append(firsts)
        return [self.voices[max(at for at in self.voices if at <= first)] for first in firsts]


def _pieces(count: int, units: tuple[int, ...] = (0,), step: int = 100) -> list[Piece]:
    """Pieces of 100 frames that begin every `step` frames."""
    return [Piece(units, np.arange(i * step, i * step + 100)) for i in range(count)]


def test_embed_when_one_voice_talks_on_then_every_third_and_the_last_are_asked() -> None:
    network = _Network({0: ANNA})
    found = embed_pieces(_pieces(6), network)
    assert network.asked == [[0, 300, 500]]
    assert [vector.tolist() for vector in found if vector is not None] == [[1.0, 0.0]] * 6


def test_embed_when_voice_changes_inside_a_chain_then_the_change_is_found() -> None:
    network = _Network({0: ANNA, 200: BERT})
    found = embed_pieces(_pieces(4), network)
    # Ends 0 and 300 differ: the middle, 200, is asked; then what lies between 0 and 200.
    assert network.asked == [[0, 300], [200], [100]]
    np.testing.assert_array_equal(found, [ANNA, ANNA, BERT, BERT])


def test_embed_when_ends_agree_then_what_lies_between_is_their_mean() -> None:
    near = np.array([0.8, 0.6], dtype=np.float32)
    found = embed_pieces(_pieces(3), _Network({0: ANNA, 200: near}))
    # (1, 0) + (0.8, 0.6) = (1.8, 0.6), of length sqrt(3.6).
    np.testing.assert_allclose(found[1], np.array([1.8, 0.6]) / 3.6**0.5, rtol=1e-6)


def test_embed_when_an_end_has_no_embedding_then_all_are_asked() -> None:
    network = _Network({0: None, 100: ANNA})
    found = embed_pieces(_pieces(3), network)
    assert network.asked == [[0, 200], [100]]
    assert found[0] is None
    np.testing.assert_array_equal(found[1:], [ANNA, ANNA])


@pytest.mark.parametrize(
    "pieces",
    [
        _pieces(3, step=100 + 60),  # pauses of 60 frames: 1.01 s
        [Piece((unit,), np.arange(unit * 100, unit * 100 + 100)) for unit in range(3)],
        [Piece((0,), np.arange(start, start + 200, 2)) for start in (0, 210, 420)],  # with holes
        [Piece((unit, 6), np.arange(unit * 90, unit * 90 + 100)) for unit in range(3)],  # overlap
    ],
    ids=["pause", "slots", "holes", "overlap"],
)
def test_embed_when_pieces_do_not_continue_each_other_then_all_are_asked(
    pieces: list[Piece],
) -> None:
    network = _Network({0: ANNA})
    embed_pieces(pieces, network)
    assert network.asked == [[int(piece.frames[0]) for piece in pieces]]


def test_embed_when_slots_change_but_are_linked_then_chain_goes_on() -> None:
    linked = [
        Piece(units, np.arange(start, start + 100))
        for units, start in (((0, 4), 0), ((4, 7), 100), ((7,), 200))
    ]
    network = _Network({0: ANNA})
    embed_pieces(linked, network)
    assert network.asked == [[0, 200]]


def test_embed_when_no_pieces_then_network_is_not_asked() -> None:
    network = _Network({})
    assert embed_pieces([], network) == []
    assert network.asked == []
