"""The rules one by one, each on a history that a reader can check."""

from __future__ import annotations

import torch

from murmur_cli.asr.whisper.timestamp_rules import TimestampRules
from support.tiny_whisper import END, ENTRIES, START, TIMES_BEGIN, VOCABULARY, tiny_tokens

TOKENS = tiny_tokens()
LETTER = ord("a")
LAST = TIMES_BEGIN + ENTRIES


def allowed(*output: int) -> set[int]:
    """Tokens left after the rules, with logits that favour no token."""
    logits = torch.zeros(1, VOCABULARY)
    # A single text token above all: the joint probability of the times does not force one.
    logits[0, LETTER] = 20.0
    logits[0, END] = 20.0
    TimestampRules(TOKENS).restrict(logits, [output])
    return set((logits[0] > -torch.inf).nonzero()[:, 0].tolist())


def times(first: int, last: int = ENTRIES) -> set[int]:
    return set(range(TIMES_BEGIN + first, TIMES_BEGIN + last + 1))


TEXT = set(range(256))


def test_first_token_when_chosen_then_a_time_within_the_first_second() -> None:
    assert allowed() == times(0, 50)


def test_text_when_after_the_first_time_then_only_text_or_end() -> None:
    assert allowed(TIMES_BEGIN) == TEXT | {END}


def test_after_text_when_chosen_then_text_end_or_a_later_time() -> None:
    assert allowed(TIMES_BEGIN + 5, LETTER) == TEXT | {END} | times(6)


def test_segment_when_closed_then_its_partner_or_the_end() -> None:
    assert allowed(TIMES_BEGIN, LETTER, TIMES_BEGIN + 40) == {END} | times(40)


def test_pair_when_complete_then_text_or_end() -> None:
    pair = (TIMES_BEGIN, LETTER, TIMES_BEGIN + 40, TIMES_BEGIN + 40)
    assert allowed(*pair) == TEXT | {END}


def test_text_when_at_the_last_time_then_no_time_is_left() -> None:
    assert allowed(TIMES_BEGIN, LETTER, LAST, LAST, LETTER) == TEXT | {END}


def test_times_when_together_more_likely_than_any_text_then_one_is_forced() -> None:
    logits = torch.zeros(1, VOCABULARY)
    logits[0, LETTER] = 3.0  # exp(3) = 20 against 95 times of weight 1
    TimestampRules(TOKENS).restrict(logits, [(TIMES_BEGIN + 5, LETTER)])
    assert set((logits[0] > -torch.inf).nonzero()[:, 0].tolist()) == times(6)


def test_specials_when_decoded_then_never_allowed() -> None:
    assert not allowed(TIMES_BEGIN, LETTER) & set(range(START, TIMES_BEGIN))


def test_is_text_when_asked_then_all_but_times() -> None:
    rules = TimestampRules(TOKENS)
    assert rules.is_text(LETTER)
    assert not rules.is_text(TIMES_BEGIN)
