"""Settings chosen on the other recordings, with errors made up."""

from __future__ import annotations

import pytest

from murmur_cli.bench.scoring import Errors, SpeakerTimeErrors
from murmur_cli.diarization.piece_voices import VoiceRule
from speakers import leave_one_out
from speakers.leave_one_out import chosen_without, table

LOW, HIGH = VoiceRule(threshold=0.5), VoiceRule(threshold=0.6)
KINDS = {"one": "short", "two": "short", "three": "long"}


def _errors(percent: float, seconds: float = 100.0, off: int = 0) -> SpeakerTimeErrors:
    return SpeakerTimeErrors(Errors(percent * seconds / 100, seconds), Errors(), off)


RESULTS = {
    LOW: {"one": _errors(10), "two": _errors(40, off=-2), "three": _errors(8, 1000)},
    HIGH: {"one": _errors(30, off=1), "two": _errors(20), "three": _errors(9, 1000)},
}


def test_choice_when_a_recording_is_left_out_then_by_the_mean_of_the_kinds_of_the_others() -> None:
    # Without one: (40 + 8) / 2 against (20 + 9) / 2; without two: (10 + 8) against (30 + 9).
    assert chosen_without(RESULTS, (LOW, HIGH), KINDS, "one") == HIGH
    assert chosen_without(RESULTS, (LOW, HIGH), KINDS, "two") == LOW
    # Of short alone 25 and 25: the first.
    assert chosen_without(RESULTS, (LOW, HIGH), KINDS, "three") == LOW


def test_table_when_made_then_errors_are_those_of_what_the_others_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leave_one_out, "LISTS", {"all": (LOW, HIGH), "low": (LOW,)})
    assert table(RESULTS, KINDS).splitlines() == [
        "| chosen | short DER | long DER | speakers off |",
        "|---|---:|---:|---:|",
        "| all | 35.0 | 8.0 | 3 |",
        "| low | 25.0 | 8.0 | 2 |",
    ]
