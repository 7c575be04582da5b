"""The committed weights transcribe meetings that they have not seen, with full attention."""

from __future__ import annotations

import functools

import pytest

from nano.attention_heads import words_heard
from nano.decoding import decode, held_out, mean_errors
from nano.family import CHECKPOINT, WEIGHTS, Nano
from nano.language import MAX_FRAMES

MAX_PERCENT = 2.0


@functools.cache
def nano() -> Nano:
    return Nano.load()


def test_size_of_the_file_then_below_fifteen_megabytes() -> None:
    assert (CHECKPOINT / WEIGHTS).stat().st_size < 15e6
    weights = sum(weight.numel() for weight in nano().model.parameters())
    assert 2e6 < weights + sum(weight.numel() for weight in nano().reader.parameters()) < 8e6


def test_held_out_meetings_of_twenty_seconds_then_few_errors() -> None:
    meetings = held_out(150, 6)
    assert mean_errors(meetings, decode(nano(), meetings)).percent < MAX_PERCENT


def test_words_heard_when_one_is_missing_then_the_others_at_their_places() -> None:
    meeting = held_out(150, 1)[0]
    said = list(meeting.tokens[:-1])
    first = meeting.parts[0]
    places = dict(words_heard(meeting, tuple(said[:3] + said[4:])))
    assert places[3] == first.spans[1]
    assert len(places) == sum(len(part.words) for part in meeting.parts) - 1


@pytest.mark.slow
def test_held_out_chunks_of_five_minutes_then_few_errors_and_all_codes() -> None:
    meetings = held_out(MAX_FRAMES, 2)
    errors = mean_errors(meetings, decode(nano(), meetings))
    assert errors.percent < MAX_PERCENT
    assert errors.codes_found == errors.codes == 6
