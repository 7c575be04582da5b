"""The committed weights transcribe meetings that they have not seen as well as README says."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from nano.attention_heads import words_heard
from nano.decoding import decode, held_out, mean_errors
from nano.evaluate import RESULTS
from nano.family import CHECKPOINT, WEIGHTS, Nano
from nano.language import MAX_FRAMES

SHORT = 150
"""Frames: twenty seconds."""

SLACK_PERCENT = 0.5
"""Of tokens, for machines that round otherwise."""


@functools.cache
def nano() -> Nano:
    return Nano.load()


def test_size_of_the_file_then_below_fifteen_megabytes() -> None:
    assert (CHECKPOINT / WEIGHTS).stat().st_size < 15e6
    weights = sum(weight.numel() for weight in nano().model.parameters())
    assert 2e6 < weights + sum(weight.numel() for weight in nano().reader.parameters()) < 8e6


def stated(frames: int) -> dict[str, Any]:
    """What results.json says, which README quotes."""
    if not RESULTS.exists():
        pytest.skip("these weights have not been measured: python -m nano.evaluate")
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text())["errors"]
    return next(row for row in rows if row["frames"] == frames)


def assert_as_stated(frames: int) -> None:
    row = stated(frames)
    meetings = held_out(frames, row["meetings"])
    errors = mean_errors(meetings, decode(nano(), meetings))
    assert errors.percent == pytest.approx(row["percent"], abs=SLACK_PERCENT)
    assert errors.codes == row["codes"]


def test_held_out_meetings_of_twenty_seconds_then_errors_as_stated() -> None:
    assert_as_stated(SHORT)


def test_words_heard_when_one_is_missing_then_the_others_at_their_places() -> None:
    meeting = held_out(SHORT, 1)[0]
    said = list(meeting.tokens[:-1])
    first = meeting.parts[0]
    places = dict(words_heard(meeting, tuple(said[:3] + said[4:])))
    assert places[3] == first.spans[1]
    assert len(places) == sum(len(part.words) for part in meeting.parts) - 1


@pytest.mark.slow
def test_held_out_chunks_of_five_minutes_then_errors_as_stated() -> None:
    assert_as_stated(MAX_FRAMES)
