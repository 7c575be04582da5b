"""Errors of transcripts, by hand."""

from __future__ import annotations

from nano.decoding import TokenErrors, codes_of, token_errors
from nano.language import WORD_BASE, language
from nano.meeting import make_meeting


def test_token_errors_when_one_of_each_kind_then_three() -> None:
    meeting = make_meeting(3, 100)
    said = list(meeting.tokens[:-1])
    assert token_errors(meeting, said) == TokenErrors(0, len(said), 0, 0)
    wrong = [*said[:4], WORD_BASE, *said[5:8], *said[9:], WORD_BASE]
    assert token_errors(meeting, wrong).errors == 3


def test_token_errors_when_nothing_is_put_out_then_all_missing() -> None:
    meeting = make_meeting(3, 100)
    errors = token_errors(meeting, ())
    assert errors.percent == 100.0


def test_codes_when_a_digit_is_wrong_then_not_found() -> None:
    meeting = make_meeting(3, 200, codes=1)
    said = list(meeting.tokens[:-1])
    assert token_errors(meeting, said).codes_found == 1
    place = said.index(WORD_BASE + language().code) + 3
    said[place] = WORD_BASE + (said[place] - WORD_BASE + 1) % 10
    assert token_errors(meeting, said).codes_found == 0


def test_codes_of_an_output_that_is_cut_off() -> None:
    assert codes_of((WORD_BASE + language().code, WORD_BASE + 4)) == [(4,)]


def test_errors_when_added_then_pooled() -> None:
    total = TokenErrors(1, 10, 2, 1) + TokenErrors(2, 20, 1, 1)
    assert total == TokenErrors(3, 30, 3, 2)
    assert total.percent == 10.0
