"""Word times of the committed weights on meetings that they have not seen."""

from __future__ import annotations

import pytest

from murmur_cli.types import WordTimes
from nano.decoding import held_out
from nano.evaluate import RESULTS
from nano.family import Nano
from nano.word_times import TimeErrors, UntimedNano, heard, time_errors

FRAMES = 300
"""Forty seconds."""


def measured(nano: Nano, *, watch: bool) -> TimeErrors:
    if not RESULTS.exists():
        pytest.skip("these weights have not been measured: python -m nano.evaluate")
    meetings = held_out(FRAMES, 2)
    return time_errors(meetings, heard(nano, meetings, watch=watch))


@pytest.mark.parametrize("kind", [Nano, UntimedNano])
def test_words_when_heads_follow_then_within_a_frame_and_nearer_than_spread(
    kind: type[Nano],
) -> None:
    attended = measured(kind.load(), watch=True)
    spread = measured(kind.load(), watch=False)
    assert attended.methods.get(WordTimes.ATTENTION, 0) > 0.9 * attended.words
    assert spread.methods == {WordTimes.SPREAD: pytest.approx(spread.words, rel=0.2)}
    assert attended.start_median <= 1.0
    assert attended.start_90 < spread.start_90
    assert attended.end_90 < spread.end_90
