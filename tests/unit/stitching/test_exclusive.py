"""Turns without overlap: worked out by hand, and by counting time slots."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.stitching.exclusive import exclusive_turns
from murmur_cli.types import SpeakerTurn, TimeSpan
from support.factories import make_turn


def _rows(turns: tuple[SpeakerTurn, ...]) -> list[tuple[float, float, str]]:
    return [(turn.span.start_s, turn.span.end_s, turn.speaker) for turn in turns]


def test_exclusive_when_nobody_overlaps_then_the_same() -> None:
    turns = (make_turn(0, 2, "A"), make_turn(2, 3, "B"), make_turn(5, 6, "A"))
    assert exclusive_turns(turns) == turns


def test_exclusive_when_someone_interjects_then_the_long_turn_is_parted() -> None:
    turns = exclusive_turns((make_turn(0, 10, "A"), make_turn(4, 5, "B")))
    assert _rows(turns) == [(0, 4, "A"), (4, 5, "B"), (5, 10, "A")]


def test_exclusive_when_turns_cross_then_the_shorter_has_the_overlap() -> None:
    turns = exclusive_turns((make_turn(0, 10, "A"), make_turn(8, 12, "B")))
    assert _rows(turns) == [(0, 8, "A"), (8, 12, "B")]


def test_exclusive_when_three_talk_then_each_keeps_what_shorter_ones_leave() -> None:
    turns = exclusive_turns((make_turn(0, 9, "A"), make_turn(1, 6, "B"), make_turn(2, 3, "C")))
    assert _rows(turns) == [(0, 1, "A"), (1, 2, "B"), (2, 3, "C"), (3, 6, "B"), (6, 9, "A")]


def test_exclusive_when_turns_are_equal_then_the_first_by_name() -> None:
    assert _rows(exclusive_turns((make_turn(0, 1, "B"), make_turn(0, 1, "A")))) == [(0, 1, "A")]


_TURNS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12), st.sampled_from("ABCD")), max_size=12
).map(lambda rows: [SpeakerTurn(TimeSpan(at, at + size), name) for at, size, name in rows])


@settings(deadline=None, max_examples=50)
@given(_TURNS)
def test_exclusive_when_turns_are_any_then_each_slot_has_one_speaker_who_talked_there(
    turns: list[SpeakerTurn],
) -> None:
    made = exclusive_turns(turns)
    for slot in range(45):
        before = {t.speaker for t in turns if t.span.start_s <= slot < t.span.end_s}
        after = [t.speaker for t in made if t.span.start_s <= slot < t.span.end_s]
        assert len(after) == min(1, len(before))
        assert set(after) <= before
