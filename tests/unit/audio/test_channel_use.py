"""What the channels of a file are to each other."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.audio.channel_use import channel_use
from support.panned import babble, in_turns, with_bleed

A, B = babble(12.0, 1), babble(12.0, 2)
NOISE = (1e-3 * np.random.default_rng(3).standard_normal(len(A))).astype(np.float32)


def _stack(*channels: np.ndarray) -> np.ndarray:
    return np.stack(channels, axis=1).astype(np.float32)


@pytest.mark.parametrize(
    "channels",
    [_stack(A, A), _stack(A, 0.98 * A + NOISE), _stack(A, -A), _stack(A, 0.1 * A)],
    ids=["equal", "gain and noise", "antiphase", "weaker"],
)
def test_channels_when_one_signal_then_alike(channels: np.ndarray) -> None:
    use = channel_use(channels)
    assert use.are_alike
    assert use.correlation == pytest.approx(1.0, abs=0.01)
    assert use.talkers == ()


@pytest.mark.parametrize("bleed_db", [-200.0, -40.0, -20.0])
def test_channels_when_people_talk_in_turns_then_each_is_a_talker(bleed_db: float) -> None:
    use = channel_use(with_bleed(*in_turns(A, B, 3.0), bleed_db))
    assert use.talkers == (0, 1)
    assert not use.are_alike


def test_channels_when_people_talk_at_once_then_each_is_a_talker() -> None:
    assert channel_use(with_bleed(A, B, -200.0)).talkers == (0, 1)


def test_channels_when_one_microphone_is_far_weaker_then_still_two_talkers() -> None:
    one, other = in_turns(A, B, 3.0)
    assert channel_use(_stack(one, 0.1 * other)).talkers == (0, 1)


def test_channels_when_microphones_of_a_room_hear_both_then_no_talkers() -> None:
    one, other = in_turns(A, B, 3.0)
    # Each a bit nearer to one of the two, half a millisecond apart.
    channels = _stack(one + 0.7 * np.roll(other, 8), 0.7 * np.roll(one, 8) + other)
    assert channel_use(channels).talkers == ()


def test_channels_when_someone_sits_between_the_microphones_then_no_talkers() -> None:
    one, other = in_turns(A, B, 3.0)
    middle = babble(12.0, 5)
    middle[: 8 * 16_000] = 0
    one[8 * 16_000 :] = other[8 * 16_000 :] = 0
    table = _stack(one + 0.2 * other + middle, 0.2 * one + other + np.roll(middle, 50))
    assert channel_use(table).talkers == ()
    apart = _stack(one + 0.2 * other + middle, 0.2 * one + other)
    assert channel_use(apart).talkers == (0, 1)


def test_channels_when_voices_are_panned_half_way_then_no_talkers() -> None:
    one, other = in_turns(A, B, 3.0)
    assert channel_use(_stack(one + 0.6 * other, 0.6 * one + other)).talkers == ()


def test_channels_when_one_holds_next_to_nothing_then_no_talkers() -> None:
    assert channel_use(_stack(A, 0.02 * NOISE)).talkers == ()


def test_channels_when_dead_or_silent_then_not_live() -> None:
    silence = np.zeros_like(A)
    assert channel_use(_stack(A, silence)).live == (0,)
    assert channel_use(_stack(silence, silence)).live == ()
    assert channel_use(_stack(A[:0], A[:0])).live == ()


def test_channels_when_three_people_have_one_each_then_three_talkers() -> None:
    length = len(A) // 3
    people = [np.zeros_like(A) for _ in range(3)]
    for number, seed in enumerate((1, 2, 4)):
        part = slice(number * length, (number + 1) * length)
        people[number][part] = babble(12.0, seed)[part]
    use = channel_use(_stack(*people, np.zeros_like(A)))
    assert (use.live, use.talkers) == ((0, 1, 2), (0, 1, 2))


def test_channels_when_some_are_copies_then_the_first_of_each_is_distinct() -> None:
    use = channel_use(_stack(A, -0.7 * A, B, A, 0.9 * B + NOISE))
    assert (use.live, use.distinct) == ((0, 1, 2, 3, 4), (0, 2))
    assert not use.are_alike
    assert use.correlation < 0.1
