"""Errors counted by hand."""

from __future__ import annotations

import pytest

from murmur_cli.bench.bench_audio import Spoken
from murmur_cli.bench.scoring import (
    Errors,
    normalised,
    speaker_word_errors,
    time_errors,
    with_speakers,
    word_errors,
)

REFERENCE = (Spoken(0, 1, "A", "Well, hello there."), Spoken(1, 2, "B", "Um, it's me"))


def test_normalised_when_text_has_marks_and_fillers_then_words_are_left() -> None:
    assert normalised("Well, Um – it's MM-hmm 3.5!") == "well it's 3 5"


def test_word_errors_when_a_word_is_wrong_and_one_is_missing_then_two_of_five() -> None:
    found = (Spoken(1.2, 1.5, "x", "me"), Spoken(0, 1, "x", "well hallo there"))
    assert word_errors(REFERENCE, found) == Errors(2, 5)


def test_speaker_word_errors_when_names_differ_but_words_are_right_then_none() -> None:
    found = (Spoken(0, 1, "1", "well hello there"), Spoken(1, 2, "0", "it's me"))
    assert speaker_word_errors(REFERENCE, found) == Errors(0, 5)


def test_speaker_word_errors_when_a_word_moves_then_it_misses_here_and_is_too_much_there() -> None:
    found = (Spoken(0, 1, "1", "well hello"), Spoken(1, 2, "0", "there it's me"))
    assert speaker_word_errors(REFERENCE, found) == Errors(2, 5)


def test_time_errors_when_half_a_turn_is_missing_and_one_is_too_long_then_seconds_add_up() -> None:
    reference = (Spoken(0, 4, "A"), Spoken(4, 6, "B"))
    found = (Spoken(0, 2, "x"), Spoken(4, 7, "y"))
    errors = time_errors(reference, found, 10.0)
    assert errors.time.errors == pytest.approx(3.0)
    assert errors.time.length == pytest.approx(6.0)
    # A: half of 4 s missed. B: 2 of 3 s. Two speakers, none too many.
    assert errors.jaccard.errors == pytest.approx(1 / 2 + 1 / 3)
    assert errors.jaccard.length == 2
    assert errors.count == 0


def test_errors_when_pooled_then_counts_add_up() -> None:
    assert (Errors(1, 10) + Errors(2, 20)).percent == pytest.approx(10.0)
    assert Errors().percent is None


def test_with_speakers_when_turns_overlap_or_are_away_then_longest_meeting_or_nearest() -> None:
    turns = (Spoken(0, 1.2, "A"), Spoken(1, 3, "B"))
    words = (Spoken(1.0, 1.5, "", "b"), Spoken(0.5, 1.1, "", "a"), Spoken(5, 6, "", "late"))
    assert [word.speaker for word in with_speakers(words, turns)] == ["B", "A", "B"]
    assert with_speakers(words, ()) == words


def test_speaker_word_errors_when_meeteval_refuses_the_number_then_speakers_are_paired_still() -> (
    None
):
    """Three and two words against two of 21 speakers with one each: 3 and 2 errors, 19 too many."""
    crowd = tuple(Spoken(0, 1, f"{number}", "word") for number in range(21))
    assert speaker_word_errors(REFERENCE, crowd) == Errors(24, 5)
