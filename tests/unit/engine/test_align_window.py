"""The window that follows: kept sets by hand, and scripted readers of a scripted talk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
import torch

from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.engine.attention_focus import AttentionFocus, glances
from murmur_cli.engine.policies.align_window import AlignWindow
from murmur_cli.engine.policies.base import SpeechRule
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.regions import Focus, Range, RowView, count_entries

N = 1500
TAIL = 128
ALIGN = AlignWindow(before=250, after=250, tail_sinks=TAIL, max_spread=60, min_mass=0.5)


def at(position: float, spread: float = 5.0, mass: float = 0.95, entries: int = 40) -> RowView:
    return RowView(9, entries, 9, focus=Focus(position, spread, mass))


@pytest.mark.parametrize(
    ("row", "read"),
    [
        (at(15.0), ((0, 2), (12, 20), (37, 40))),  # 15 - 3 … 15 + 4
        (at(15.49), ((0, 2), (12, 20), (37, 40))),
        (at(15.5), ((0, 2), (13, 21), (37, 40))),
        (at(4.0), ((0, 9), (37, 40))),
        (at(0.0), ((0, 5), (37, 40))),
        (at(33.0), ((0, 2), (30, 40))),
        (at(36.0), ((0, 2), (33, 40))),
        (at(15.0, spread=6.1), ((0, 40),)),
        (at(15.0, mass=0.49), ((0, 40),)),
        (at(33.0, mass=0.05), ((0, 2), (30, 40))),  # it reaches the tail: no sign of loss
        (at(2.0, entries=4), ((0, 4),)),
        (RowView(1, 40, 1), ((0, 40),)),
    ],
)
def test_align_when_focus_is_given_then_hand_example(row: RowView, read: tuple[Range, ...]) -> None:
    rule = AlignWindow(before=3, after=4, sinks=2, tail_sinks=3, max_spread=6, min_mass=0.5)
    assert rule.select_speech(row) == read


def test_align_when_margins_cover_everything_then_full() -> None:
    rule = AlignWindow(before=40, after=40)
    for position in range(40):
        assert rule.select_speech(at(float(position))) == ((0, 40),)


@dataclass(frozen=True)
class Reading:
    """What a scripted reader found: where its audio was not read, and the share it read."""

    lost: list[int]
    share: float


def read_talk(
    rule: SpeechRule, places: Sequence[int], diffuse: Sequence[int] = (), tail: float = 0.08
) -> Reading:
    """Decode a talk whose token t lies at entry places[t].

    Three heads attend to 11 entries around the token's audio, to the tail and, very little,
    everywhere; what is not read has no part, as in a softmax. In `diffuse` steps there is no
    peak.
    """
    tracker = AttentionFocus()
    lost = []
    read = 0
    need = rule.focus_need
    for step, place in enumerate(places):
        focus = tracker.focus
        ranges = rule.select_speech(RowView(step, N, step, focus=focus)) if step else ((0, N),)
        wanted = torch.full((3, N), 1e-5)
        wanted[:, N - 60 : N - 30] += tail / 30
        if step not in diffuse:
            for head in range(3):
                wanted[head, max(0, place - 5 + head) : place + 6 + head] += 0.9 / 11
        seen = torch.zeros_like(wanted)
        for start, end in ranges:
            seen[:, start:end] = wanted[:, start:end]
        seen /= seen.sum(dim=1, keepdim=True)
        if not any(start <= place < end for start, end in ranges):
            lost.append(step)
        read += count_entries(ranges)
        if need is not None:
            tracker.update(glances(seen[None], [N], need)[0])
    return Reading(lost, read / N / len(places))


STEADY = [10 * step for step in range(140)]


def test_align_when_speech_is_steady_then_nothing_is_lost_and_half_is_read() -> None:
    reading = read_talk(ALIGN, STEADY)
    assert reading.lost == []
    assert reading.share < 0.45


def test_align_when_speech_is_fast_then_nothing_is_lost() -> None:
    assert read_talk(ALIGN, [45 * step for step in range(31)]).lost == []


def test_align_when_a_pause_is_shorter_than_the_margin_then_nothing_is_lost() -> None:
    places = [*range(0, 400, 10), *range(600, 1300, 10)]
    assert read_talk(ALIGN, places).lost == []


def test_align_when_ten_seconds_are_silent_then_found_again_after_one_step() -> None:
    places = [*range(0, 400, 10), *range(900, 1300, 10)]
    reading = read_talk(ALIGN, places)
    assert reading.lost == [40]  # the very step of the jump
    assert reading.share < 0.5


def test_align_when_the_reader_goes_back_then_found_again_after_one_step() -> None:
    places = [*range(0, 1000, 10), *range(300, 700, 10)]
    assert read_talk(ALIGN, places).lost == [100]


def test_align_when_attention_is_diffuse_then_everything_is_read() -> None:
    diffuse = range(40, 80)
    places = [*range(0, 400, 10), *[1000] * 40, *range(1000, 1300, 10)]
    reading = read_talk(ALIGN, places, diffuse)
    # In doubt it reads all: what comes after is seen at once.
    assert [step for step in reading.lost if step > 42] == []


def test_align_when_speech_runs_into_the_tail_then_not_mistaken_for_loss() -> None:
    within = read_talk(ALIGN, [*range(1000, 1365, 10)])
    into = read_talk(ALIGN, [*range(1000, 1500, 10)])
    assert into.lost == []
    assert into.share < within.share + 0.02


def test_align_when_talk_is_slow_then_it_keeps_what_the_fixed_rate_loses() -> None:
    # Four tokens a second where the rates expect seven: 1,372 entries in 110 tokens.
    slow = [int(12.5 * step) for step in range(110)]
    paused = [*range(0, 90, 3), *range(90, 1300, 10)]
    rate = build_policy("speech", {"right_edge": "true", "window": "500"}, WHISPER_RATES).speech
    left = build_policy("speech", {"window": "372"}, WHISPER_RATES).speech
    follows = build_policy("align", {}, WHISPER_RATES).speech
    assert len(read_talk(rate, slow).lost) > 5
    assert read_talk(follows, slow).lost == []
    assert len(read_talk(left, [0] * 80 + paused).lost) > 5
    assert read_talk(follows, [0] * 80 + paused).lost == []
