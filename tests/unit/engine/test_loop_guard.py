"""Both sides of the guard: what must be cut, and what people really say."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from murmur_cli.engine.loop_guard import LoopGuard
from murmur_cli.engine.request import Loop, LoopKind

TIME = 1000
"""Tokens from here on are timestamps."""


def is_text(token: int) -> bool:
    return token < TIME


def decode_until_loop(
    tokens: list[int], counts: Callable[[int], bool] = is_text
) -> tuple[Loop, int] | None:
    """Feed token by token as the engine does; the loop and the tokens decoded by then."""
    watch = LoopGuard().watch(audio_s=30.0)
    for count, token in enumerate(tokens, start=1):
        loop = watch.see(token, counts)
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
    assert (loop.repeats, count) == (24, 10 + 24)


def test_phrase_when_repeated_then_cut_after_its_first() -> None:
    phrase = varied(10, seed=1)
    found = decode_until_loop([*varied(6), *phrase * 9])
    assert found is not None
    loop, count = found
    assert (loop.start, loop.period) == (6, 10)
    assert (loop.repeats, count) == (4, 6 + 40)


def test_two_tokens_when_alternating_then_period_two() -> None:
    found = decode_until_loop([*varied(7), *[5, 6] * 40])
    assert found is not None
    assert (found[0].start, found[0].period) == (7, 2)
    assert found[1] == 7 + 24


def test_longest_period_when_sentence_of_64_then_found() -> None:
    sentence = varied(64, seed=2)
    found = decode_until_loop(sentence * 5)
    assert found is not None
    assert found[0] == Loop(0, 64, 4)


def test_two_phrases_when_alternating_then_their_sum_is_the_period() -> None:
    first, second = varied(5, seed=5), varied(9, seed=6)
    found = decode_until_loop([*varied(3), *(first + second) * 8])
    assert found is not None
    assert found == (Loop(3, 14, 4), 3 + 4 * 14)


def test_cues_when_three_of_them_take_turns_for_longer_than_a_period_then_copies() -> None:
    # 90 tokens: beyond the exact rule, within the distance of copies. The first pair is new.
    cues = varied(90, seed=7)
    found = decode_until_loop(cues * 6)
    assert found is not None
    assert found[0] == Loop(0, 90, 4, LoopKind.GROWING)
    assert found[1] <= 4 * 90 + 1


def test_period_when_beyond_all_distances_then_not_looked_for() -> None:
    assert decode_until_loop(varied(129, seed=2) * 6) is None


def counting(phrase: int, occurrences: int) -> list[int]:
    """A sentence of `phrase` tokens said over and over; its middle token counts up."""
    sentence = varied(phrase, seed=8)
    at = phrase // 2
    return [
        token
        for number in range(occurrences)
        for token in (*sentence[:at], 2000 + number, *sentence[at + 1 :])
    ]


@pytest.mark.parametrize(("phrase", "within"), [(5, 140), (6, 120), (8, 100), (12, 90), (30, 130)])
def test_counter_inside_a_repeated_sentence_when_it_goes_up_then_found(
    phrase: int, within: int
) -> None:
    head = varied(6, seed=9)
    tokens = [*head, *counting(phrase, 400 // phrase)]
    found = decode_until_loop(tokens, counts=lambda token: True)
    assert found is not None
    loop, count = found
    assert loop.kind is LoopKind.GROWING
    assert loop.period == phrase
    assert count <= 6 + within
    # What is kept, [0, start + period), ends inside the second occurrence at the latest.
    assert loop.start + loop.period <= 6 + 2 * phrase


def test_phrase_when_each_occurrence_adds_a_token_then_found() -> None:
    words = varied(40, seed=10)
    tokens = [token for length in range(1, 40) for token in words[:length]]
    found = decode_until_loop([*varied(5), *tokens])
    assert found is not None
    assert found[0].kind is LoopKind.GROWING
    # "a" to "a b c d" are kept at most: 1 + 2 + 3 + 4 tokens.
    assert found[0].start + found[0].period <= 5 + 10 + 1
    assert found[1] <= 5 + 90


def test_phrase_when_each_occurrence_loses_a_token_then_found() -> None:
    words = varied(20, seed=11)
    tokens = [token for length in range(20, 4, -1) for token in words[:length]]
    found = decode_until_loop(tokens)
    assert found is not None
    assert found[1] <= 120


def test_counter_when_its_times_change_too_then_found_and_counted_in_all_tokens() -> None:
    tokens: list[int] = []
    for turn in range(30):
        tokens += [TIME + turn, *varied(7, seed=12), 300 + turn, TIME + turn + 1]
    found = decode_until_loop(tokens)
    assert found is not None
    assert found[0].kind is LoopKind.GROWING
    assert found[0].period == 10


@pytest.mark.parametrize(("audio_s", "tokens"), [(0.0, 32), (2.0, 52), (30.0, 332)])
def test_ceiling_when_passed_then_said(audio_s: float, tokens: int) -> None:
    watch = LoopGuard(max_tokens_per_s=10.0).watch(audio_s)
    for token in range(tokens):
        assert watch.see(token, is_text) is None
        assert not watch.is_past_ceiling
    watch.see(tokens, is_text)
    assert watch.is_past_ceiling


def test_ceiling_when_there_is_none_then_never_passed() -> None:
    watch = LoopGuard().watch(1.0)
    for token in range(900):
        watch.see(token, is_text)
    assert not watch.is_past_ceiling


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
PAGES = [token for number in range(200, 260) for token in (GOOD, number, COMMA)]
"""'page 1, page 2, …' read out."""


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
        PAGES,
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
        "pages",
        "two runs",
    ],
)
def test_true_repetition_when_spoken_then_survives(spoken: list[int]) -> None:
    assert decode_until_loop([*varied(11), *spoken, *varied(20, seed=9)]) is None


def test_output_when_only_timestamps_then_no_loop() -> None:
    assert decode_until_loop([TIME + 3] * 60) is None
