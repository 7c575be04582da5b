"""The guard over any output: silent while nothing repeats, in time once something does."""

from __future__ import annotations

import random
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.engine.loop_guard import LoopGuard
from murmur_cli.engine.request import Loop, LoopKind

GUARD = LoopGuard()
PROPERTY = settings(deadline=None, max_examples=50)


def first_loop(tokens: Sequence[int]) -> tuple[Loop, int] | None:
    watch = GUARD.watch(30.0)
    for count, token in enumerate(tokens, start=1):
        loop = watch.see(token, lambda _: True)
        if loop is not None:
            return loop, count
    return None


@PROPERTY
@given(st.permutations(range(300)))
def test_text_when_no_token_recurs_then_never_fires(tokens: Sequence[int]) -> None:
    assert first_loop(tokens) is None


@PROPERTY
@given(st.integers(0, 2**32))
def test_text_when_words_recur_but_not_in_order_then_never_fires(seed: int) -> None:
    # Zipf's law over 300 words, drawn freely: common words recur all the time, phrases do not.
    weights = [1 / (rank + 1) for rank in range(300)]
    assert first_loop(random.Random(seed).choices(range(300), weights, k=600)) is None


@PROPERTY
@given(
    period=st.integers(1, GUARD.max_period),
    head=st.integers(0, 40),
    phrase=st.permutations(range(64)),
)
def test_period_when_repeated_then_fires_with_the_occurrence_that_is_enough(
    period: int, head: int, phrase: Sequence[int]
) -> None:
    tokens = [*range(1000, 1000 + head), *list(phrase[:period]) * 60]
    found = first_loop(tokens)
    assert found is not None
    needed = max(4 if period >= 8 else 8, -(-24 // period))
    assert found == (Loop(head, period, needed), head + needed * period)


@PROPERTY
@given(phrase=st.integers(8, 40), step=st.integers(-7, 7))
def test_sentence_when_one_token_of_it_changes_each_time_then_fires_in_bounded_time(
    phrase: int, step: int
) -> None:
    tokens: list[int] = []
    for number in range(60):
        sentence = list(range(100, 100 + phrase))
        sentence[(phrase // 2 + number * step) % phrase] = 1000 + number
        tokens += sentence
    found = first_loop(tokens)
    assert found is not None
    # At worst two tokens of eight are new (the sum then grows by 2 in 8), or four whole
    # occurrences are awaited; one more until the first pair recurs.
    assert found[1] <= max(48 * 4, 5 * phrase) + 2 * phrase
    assert found[0].kind is LoopKind.GROWING


@PROPERTY
@given(st.lists(st.integers(0, 3), max_size=200))
def test_any_output_when_a_loop_is_found_then_its_indices_lie_in_it(tokens: list[int]) -> None:
    found = first_loop(tokens)
    if found is None:
        return
    loop, count = found
    assert 0 <= loop.start < loop.start + loop.period < count
    if loop.kind is LoopKind.PERIOD:
        tail = tokens[loop.start : count]
        assert tail[loop.period :] == tail[: -loop.period]
        assert len(tail) == loop.repeats * loop.period
