"""Which hypothesis meets which reference, and what is missing or failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.scoring.material import SessionMaterial
from murmur_cli.scoring.pairing import Pairing, Standing, pair_sessions
from murmur_cli.scoring.sources import Side, Unreadable
from support.spoken import material, turns

ROWS = [("A", 0.0, 1.0, "so")]


def _side(*sessions: SessionMaterial, unreadable: tuple[Unreadable, ...] = ()) -> Side:
    return Side({one.session_id: one for one in sessions}, unreadable, ())


def _broken(stem: str, kind: str = "stm") -> Unreadable:
    path = Path(f"{stem}.{kind}")
    return Unreadable(path, stem, kind, f"{path}: line 1 is wrong")


def _standings(pairing: Pairing) -> list[str]:
    return [str(pair.standing) for pair in pairing.pairs]


def test_pairs_when_ids_are_equal_then_they_meet_and_the_rest_is_told() -> None:
    references = _side(material("007", ROWS), material("7", ROWS), material("a.b", ROWS))
    pairing = pair_sessions(
        references, _side(material("a.b", ROWS), material("7", ROWS), material("9", ROWS))
    )
    assert _standings(pairing) == ["missing", "scored", "scored"]
    assert pairing.pairs[0].hypothesis is None
    assert pairing.without_reference == ("9",)


def test_pairs_when_a_file_is_named_like_the_reference_then_they_meet_and_it_is_said() -> None:
    references = _side(material("EN2001a", ROWS, file_stem="trn00"))
    pairing = pair_sessions(references, _side(material("trn00", ROWS, file_stem="trn00")))
    assert _standings(pairing) == ["scored"]
    assert "trn00" in (pairing.pairs[0].note or "")


def test_pairs_when_an_id_ends_like_a_recording_then_it_meets_the_bare_one() -> None:
    pairing = pair_sessions(_side(material("talk", ROWS)), _side(material("talk.mp3", ROWS)))
    assert _standings(pairing) == ["scored"]


@pytest.mark.parametrize("found", ["talk.v2", "Talk", "talk2"])
def test_pairs_when_an_id_is_only_like_it_then_they_do_not_meet(found: str) -> None:
    pairing = pair_sessions(_side(material("talk", ROWS)), _side(material(found, ROWS)))
    assert _standings(pairing) == ["missing"]
    assert pairing.without_reference == (found,)


def test_pairs_when_two_recordings_could_be_meant_then_neither_is_taken() -> None:
    found = _side(material("talk.mp3", ROWS), material("talk.wav", ROWS))
    assert _standings(pair_sessions(_side(material("talk", ROWS)), found)) == ["missing"]


def test_pairs_when_a_hypothesis_has_no_words_and_no_turns_then_it_is_empty() -> None:
    pairing = pair_sessions(_side(material("s", ROWS)), _side(material("s", [], turns())))
    assert _standings(pairing) == ["empty"]


def test_pairs_when_the_file_of_a_session_is_broken_then_it_failed() -> None:
    pairing = pair_sessions(
        _side(material("a", ROWS), material("b", ROWS)), _side(unreadable=(_broken("a"),))
    )
    assert _standings(pairing) == ["failed", "missing"]
    assert pairing.pairs[0].note == "a.stm: line 1 is wrong"


def test_pairs_when_a_broken_file_could_hold_any_session_then_those_without_words_failed() -> None:
    pairing = pair_sessions(
        _side(material("a", ROWS), material("b", ROWS)),
        _side(material("a", ROWS), unreadable=(_broken("everything"),)),
    )
    assert _standings(pairing) == ["scored", "failed"]


@pytest.mark.parametrize(
    ("kind", "standing"),
    [
        ("srt", "scored"),
        ("seglst", "scored"),
        ("json", "scored"),
        ("stm", "failed"),
        ("rttm", "failed"),
    ],
)
def test_pairs_when_a_broken_file_was_not_needed_then_it_does_no_harm(
    kind: str, standing: str
) -> None:
    found = _side(material("a", ROWS, turns()), unreadable=(_broken("a", kind),))
    assert _standings(pair_sessions(_side(material("a", ROWS)), found)) == [standing]


def test_standing_when_printed_then_a_word() -> None:
    assert f"{Standing.MISSING}" == "missing"
