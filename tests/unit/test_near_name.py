from __future__ import annotations

import pytest

from murmur_cli.near_name import did_you_mean, near_name

POLICIES = ("none", "c3", "c3r", "c3r+output", "align")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("C3R", "c3r"),
        ("c3rr", "c3r"),
        ("C3RR", "c3r"),
        ("C3R+OUTPUT", "c3r+output"),
        ("Aling", "align"),
        ("xyz", None),
        ("", None),
    ],
)
def test_near_name_when_case_or_a_letter_differs_then_found(text: str, near: str | None) -> None:
    assert near_name(text, POLICIES) == near


def test_near_name_when_known_names_have_capitals_then_as_they_are_written() -> None:
    assert near_name("whisper-BASE", ["Whisper-base", "Voxtral"]) == "Whisper-base"
    assert near_name("anything", []) is None


def test_hint_when_a_name_is_near_then_in_brackets_else_nothing() -> None:
    assert did_you_mean("Nonne", POLICIES) == " (did you mean none?)"
    assert did_you_mean("xyz", POLICIES) == ""
