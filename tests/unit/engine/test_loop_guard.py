"""Both sides of the guard: what must be cut, and what people really say."""

from __future__ import annotations

import random

import pytest

from murmur_cli.engine.loop_guard import LoopGuard
from murmur_cli.engine.request import Loop

TIME = 1000
"""Tokens from here on are timestamps."""


def is_text(token: int) -> bool:
    return token < TIME


def decode_until_loop(tokens: list[int]) -> tuple[Loop, int] | None:
    """Feed token by token as the engine does; the loop and the tokens decoded by then."""
    guard = LoopGuard()
    for count in range(1, len(tokens) + 1):
        loop = guard.find(tokens[:count], is_text)
        if loop is not None:
            return loop, count
    return None


def varied(count: int, seed: int = 0) -> list[int]:
    """Text without repetition."""
    return random.Random(seed).sample(range(100, 900), count)


def test_single_token_when_repeated_then_cut_after_its_first() -> None:
    found = decode_until_loop([*varied(10), *[5] * 60])
    assert found is not None
    loop, count = found
    assert (loop.start, loop.period) == (10, 1)
    # 24 repeats are needed and every fourth token is looked at: 10 + 24 -> 36.
    assert (loop.repeats, count) == (26, 36)


def test_phrase_when_repeated_then_cut_after_its_first() -> None:
    phrase = varied(10, seed=1)
    found = decode_until_loop([*varied(6), *phrase * 9])
    assert found is not None
    loop, count = found
    assert (loop.start, loop.period) == (6, 10)
    assert loop.repeats == 4
    assert 46 <= count <= 49


def test_two_tokens_when_alternating_then_period_two() -> None:
    found = decode_until_loop([*varied(7), *[5, 6] * 40])
    assert found is not None
    assert (found[0].start, found[0].period) == (7, 2)
    assert found[1] <= 7 + 24 + 4


def test_longest_period_when_sentence_of_64_then_found() -> None:
    sentence = varied(64, seed=2)
    found = decode_until_loop(sentence * 5)
    assert found is not None
    assert found[0] == Loop(0, 64, 4)


def test_period_when_beyond_the_longest_then_not_looked_for() -> None:
    assert decode_until_loop(varied(65, seed=2) * 5) is None


def test_loop_when_timestamps_change_between_then_found_and_counted_in_all_tokens() -> None:
    line = varied(9, seed=3)
    tokens = [TIME, *varied(4)]
    for turn in range(12):
        tokens += [TIME + 10 * turn, TIME + 10 * turn, *line]
    found = decode_until_loop(tokens)
    assert found is not None
    loop, _ = found
    # One timestamp, 4 tokens, a pair: the line starts at 7 and recurs 11 tokens later.
    assert (loop.start, loop.period) == (7, 11)
    assert tokens[loop.start : loop.start + 9] == line


def test_single_word_when_each_has_its_own_times_then_found() -> None:
    tokens: list[int] = []
    for turn in range(40):
        tokens += [TIME + turn, 5, TIME + turn + 1]
    found = decode_until_loop(tokens)
    assert found is not None
    assert (found[0].start, found[0].period) == (1, 3)


NO, COMMA, VERY, GOOD = 5, 6, 7, 8
LINE = varied(12, seed=4)
NUMBERS = [token for number in range(200, 260) for token in (number, COMMA)]


@pytest.mark.parametrize(
    "spoken",
    [
        [NO] * 5,
        [NO, COMMA] * 5,
        [NO, COMMA] * 10,
        [VERY, VERY, VERY, GOOD] * 3,
        LINE * 3,
        [TIME, *LINE, TIME + 50, TIME + 50, *LINE, TIME + 90, TIME + 90, *LINE, TIME + 140],
        NUMBERS,
        [*([NO] * 12), COMMA, *([VERY] * 12)],
    ],
    ids=[
        "no x5",
        "no, x5",
        "no, x10",
        "very good",
        "line x3",
        "timed line x3",
        "count",
        "two runs",
    ],
)
def test_true_repetition_when_spoken_then_survives(spoken: list[int]) -> None:
    assert decode_until_loop([*varied(11), *spoken, *varied(20, seed=9)]) is None


def test_repetition_when_over_and_followed_by_text_then_not_a_loop() -> None:
    # Looked at only once, after the text went on: nothing repeats at the end.
    guard = LoopGuard()
    assert guard.find([*[5] * 36, *varied(8)], is_text) is None


def test_output_when_only_timestamps_then_no_loop() -> None:
    assert decode_until_loop([TIME + 3] * 60) is None
