"""Names and merges of speakers in a document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from murmur_cli.errors import UsageError
from murmur_cli.relabelling.edits import edited, parse_merges, parse_renames
from murmur_cli.types import MovedTurn, StitchDecision, TimeSpan
from murmur_cli.writers import json_document
from support.factories import make_segment, make_transcript, make_turn

LABELS = ("SPEAKER_00", "SPEAKER_01", "Doe, Jane", "a=b")


def _document() -> dict[str, Any]:
    segments = [
        make_segment("one two", 0, 2, "SPEAKER_00"),
        make_segment("three", 2, 3, "SPEAKER_01"),
        make_segment("four", 3, 4, None),
        make_segment("five", 5, 6, "SPEAKER_02"),
    ]
    turns = [
        make_turn(0, 2.5, "SPEAKER_00"),
        make_turn(2, 3, "SPEAKER_01"),
        make_turn(5, 6, "SPEAKER_02"),
    ]
    moved = (MovedTurn(TimeSpan(2, 3), 0.9, "SPEAKER_01", 0.8, 0.1),)
    decisions = tuple(
        StitchDecision(
            *(0, at, f"SPEAKER_0{at}", 2.0, 0.8, f"SPEAKER_0{(at + 1) % 3}", 0.4, 0.4),
            moved=moved if at == 0 else (),
        )
        for at in range(3)
    )
    transcript = make_transcript(segments, turns, decisions=decisions)
    document: dict[str, Any] = json.loads(json_document.render(transcript))
    return document


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("SPEAKER_00=Anna", {"SPEAKER_00": "Anna"}),
        ("SPEAKER_00= Jane  Roe ", {"SPEAKER_00": "Jane Roe"}),
        ("a=b=c=d", {"a=b": "c=d"}),
        ("Doe, Jane=Jane", {"Doe, Jane": "Jane"}),
    ],
)
def test_renames_when_parsed_then_parted_after_a_known_label(
    value: str, expected: dict[str, str]
) -> None:
    assert parse_renames([value], LABELS) == expected


def test_labels_when_typed_in_decomposed_unicode_then_found() -> None:
    """As some systems hand over what is typed: e and a mark for ë."""
    labels = ["Zo\u00eb", "Ben"]
    assert parse_renames(["Zoe\u0308=Eve"], labels) == {"Zo\u00eb": "Eve"}
    assert parse_merges(["Ben,Zoe\u0308"], labels) == {"Zo\u00eb": "Ben"}


def test_renames_when_two_swap_then_allowed() -> None:
    values = ["SPEAKER_00=SPEAKER_01", "SPEAKER_01=SPEAKER_00"]
    assert parse_renames(values, LABELS) == {
        "SPEAKER_00": "SPEAKER_01",
        "SPEAKER_01": "SPEAKER_00",
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["SPEAKER_00"], "write OLD=NEW"),
        (["SPEAKER_09=X"], "no such speaker; there are SPEAKER_00, SPEAKER_01"),
        (["SPEAKER_00="], "the name is empty"),
        (["SPEAKER_00=unknown"], "'unknown' stands for nobody"),
        (["SPEAKER_00=SPEAKER_01"], "two speakers would be called SPEAKER_01; --merge"),
        (["SPEAKER_00=X", "SPEAKER_01=X"], "two speakers would be called X"),
        (["SPEAKER_00=X", "SPEAKER_00=Y"], "SPEAKER_00 is renamed twice"),
    ],
)
def test_renames_when_wrong_then_usage_error(values: list[str], expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_renames(values, LABELS)
    assert expected in str(raised.value)


def test_merges_when_labels_hold_commas_then_the_longest_that_fits() -> None:
    assert parse_merges(["SPEAKER_01, Doe, Jane,a=b"], LABELS) == {
        "Doe, Jane": "SPEAKER_01",
        "a=b": "SPEAKER_01",
    }


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["SPEAKER_00"], "name two speakers or more"),
        (["SPEAKER_00,"], "no speaker without a name"),
        (["SPEAKER_00,X"], "no speaker X; there are"),
        (["SPEAKER_00,SPEAKER_00"], "SPEAKER_00 is given twice"),
        (["SPEAKER_00,SPEAKER_01", "a=b,SPEAKER_01"], "SPEAKER_01 is given twice"),
    ],
)
def test_merges_when_wrong_then_usage_error(values: list[str], expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_merges(values, LABELS)
    assert expected in str(raised.value)


def test_edited_when_renamed_then_everywhere_and_back_again() -> None:
    document = _document()
    made = edited(document, {}, {"SPEAKER_00": "Zoë = Öz", "SPEAKER_02": "SPEAKER_00"})
    assert [row["speaker"] for row in made["speakers"]] == ["Zoë = Öz", "SPEAKER_01", "SPEAKER_00"]
    assert [row["speaker"] for row in made["segments"]] == [
        "Zoë = Öz",
        "SPEAKER_01",
        None,
        "SPEAKER_00",
    ]
    assert {w["speaker"] for w in made["segments"][0]["words"]} == {"Zoë = Öz"}
    assert [row["runner_up"] for row in made["stitching"]] == [
        "SPEAKER_01",
        "SPEAKER_00",
        "Zoë = Öz",
    ]
    assert edited(made, {}, {"Zoë = Öz": "SPEAKER_00", "SPEAKER_00": "SPEAKER_02"}) == document


def test_edited_when_renamed_then_moved_turns_are_too() -> None:
    made = edited(_document(), {}, {"SPEAKER_01": "Öz"})
    assert [turn["speaker"] for turn in made["stitching"][0]["moved"]] == ["Öz"]


def test_edited_when_merged_then_turns_join_and_counts_are_those_of_both() -> None:
    document = _document()
    made = edited(document, {"SPEAKER_01": "SPEAKER_00"}, {"SPEAKER_00": "Anna"})
    assert made["turns"] == [
        {"start_s": 0.0, "end_s": 3.0, "speaker": "Anna"},
        {"start_s": 5.0, "end_s": 6.0, "speaker": "SPEAKER_02"},
    ]
    assert made["speakers"] == [
        {"speaker": "Anna", "speech_s": 3.0, "turns": 1, "words": 3, "channel": None},
        {"speaker": "SPEAKER_02", "speech_s": 1.0, "turns": 1, "words": 1, "channel": None},
    ]
    first, second, third = made["stitching"]
    assert (first["speaker"], first["runner_up"], first["margin"]) == ("Anna", None, None)
    assert (second["speaker"], second["runner_up"]) == ("Anna", "SPEAKER_02")
    assert third["runner_up"] == "Anna"
    # A turn that went from one to the other has not moved any more.
    assert first["moved"] == []
    assert document == _document()
