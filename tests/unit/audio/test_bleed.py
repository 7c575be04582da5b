"""Copies of other channels: found by waveform, measured, left out by level."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.audio.bleed import find_copies, without_copies
from murmur_cli.audio.probe import frame_level_db
from support.panned import RATE_HZ, babble, in_turns, with_bleed

A, B = babble(12.0, 1), babble(12.0, 2)
TURN_S = 3.0
ONE, OTHER = in_turns(A, B, TURN_S)


def _heard(channels: np.ndarray, target: int) -> np.ndarray:
    level_db = frame_level_db(channels)
    copies = [one for one in find_copies(channels, level_db, (0, 1)) if one.target == target]
    return np.asarray(without_copies(channels, level_db, target, copies))


@pytest.mark.parametrize("bleed_db", [-12.0, -20.0, -30.0])
def test_copies_when_one_bleeds_into_the_other_then_found_with_their_level(
    bleed_db: float,
) -> None:
    channels = with_bleed(ONE, OTHER, bleed_db, noise_db=-80.0)
    copies = find_copies(channels, frame_level_db(channels), (0, 1))
    assert [(copy.source, copy.target) for copy in copies] == [(0, 1), (1, 0)]
    assert [copy.gain_db for copy in copies] == pytest.approx([bleed_db] * 2, abs=1.5)


@pytest.mark.parametrize("channels", [(ONE, OTHER), (A, B)], ids=["in turns", "at once"])
def test_copies_when_nothing_bleeds_then_none(channels: tuple[np.ndarray, np.ndarray]) -> None:
    heard = with_bleed(*channels, -200.0)
    assert find_copies(heard, frame_level_db(heard), (0, 1)) == ()


def test_channel_when_other_talks_then_silent_and_own_turns_whole() -> None:
    channels = with_bleed(ONE, OTHER, -20.0)
    heard = _heard(channels, target=1)
    margin = RATE_HZ // 2
    for number in range(4):
        start, end = (round((number + at) * TURN_S * RATE_HZ) for at in (0, 1))
        inside = slice(start + margin, end - margin)
        if number % 2 == 0:
            assert not heard[inside].any()
        else:
            np.testing.assert_array_equal(heard[inside], channels[inside, 1])


def test_channel_when_both_talk_then_what_is_its_own_stays() -> None:
    # A quick sound of 0.6 s in the middle of the other's turn, at its usual level.
    word = slice(round(1.2 * RATE_HZ), round(1.8 * RATE_HZ))
    other = OTHER.copy()
    other[word] = 0.05 * np.random.default_rng(9).standard_normal(word.stop - word.start)
    channels = with_bleed(ONE, other, -20.0)
    heard = _heard(channels, target=1)
    np.testing.assert_array_equal(heard[word], channels[word, 1])
    assert not heard[round(0.2 * RATE_HZ) : round(0.7 * RATE_HZ)].any()


def test_copies_when_recording_is_shorter_than_a_probe_then_none() -> None:
    channels = with_bleed(ONE[:2000], OTHER[:2000], -20.0)
    assert find_copies(channels, frame_level_db(channels), (0, 1)) == ()
