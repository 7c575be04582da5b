"""Glances by hand, and the averages of scripted series of them."""

from __future__ import annotations

import pytest
import torch

from murmur_cli.engine.attention_focus import AttentionFocus, Glance, glances
from murmur_cli.engine.policies.base import FocusNeed
from murmur_cli.engine.regions import Focus

NO_SINKS = FocusNeed(0, 0)


def attention(*heads: dict[int, float], entries: int = 20) -> torch.Tensor:
    """One row: for each head, probabilities by entry."""
    rows = torch.zeros(1, len(heads), entries)
    for head, places in enumerate(heads):
        for place, probability in places.items():
            rows[0, head, place] = probability
    return rows


def test_glance_when_heads_agree_then_their_place_and_no_spread() -> None:
    seen = glances(attention({7: 0.5}, {7: 0.75}, {7: 1.0}), [20], NO_SINKS)
    assert seen == [Glance(position=7.0, spread=0.0, mass=0.75)]


def test_glance_when_one_head_is_elsewhere_then_the_others_count() -> None:
    seen = glances(attention({7: 1.0}, {8: 1.0}, {19: 1.0}), [20], NO_SINKS)
    assert (seen[0].position, seen[0].spread) == (8.0, 1.0)  # distances 1, 0 and 11


def test_glance_when_a_head_attends_to_little_then_it_hardly_counts() -> None:
    heads = ({7: 1.0}, {15: 0.1}, {16: 0.1})
    assert glances(attention(*heads), [20], NO_SINKS)[0].position == 7.0


def test_glance_when_attention_is_even_then_spread_is_a_quarter_of_its_width() -> None:
    even = dict.fromkeys(range(16), 1 / 16)
    seen = glances(attention(even, even), [16], NO_SINKS)[0]
    assert seen.position in (7.0, 8.0)
    assert seen.spread == pytest.approx(4.0, abs=0.5)
    assert seen.mass == pytest.approx(1.0)


def test_glance_when_sinks_are_strong_then_they_do_not_count() -> None:
    head = {0: 0.3, 1: 0.1, 9: 0.2, 18: 0.1, 19: 0.3}
    seen = glances(attention(head), [20], FocusNeed(sinks=2, tail_sinks=2))[0]
    assert (seen.position, seen.spread) == (9.0, 0.0)
    assert seen.mass == pytest.approx(0.2)


def test_glance_when_row_is_shorter_than_the_arena_then_tail_is_its_own() -> None:
    rows = attention({9: 0.2, 19: 0.8}).repeat(2, 1, 1)
    rows[1, 0] = 0.0
    rows[1, 0, 4], rows[1, 0, 9] = 0.2, 0.8  # ten entries: the last is 9
    seen = glances(rows, [20, 10], FocusNeed(0, 1))
    assert [glance.position for glance in seen] == [9.0, 4.0]
    assert [glance.mass for glance in seen] == pytest.approx([0.2, 0.2])


def test_glance_when_nothing_is_attended_then_no_mass() -> None:
    assert glances(attention({19: 1.0}), [20], FocusNeed(0, 5))[0].mass == 0.0
    assert glances(attention({3: 1.0}), [4], FocusNeed(4, 4))[0].mass == 0.0


def test_glance_when_row_is_among_others_then_the_same() -> None:
    generator = torch.Generator().manual_seed(3)
    rows = torch.rand(9, 8, 300, generator=generator) ** 12
    rows /= rows.sum(dim=2, keepdim=True)
    need = FocusNeed(3, 20)
    together = glances(rows, [300] * 9, need)
    assert together == [glances(row[None], [300], need)[0] for row in rows]


def focus_after(*series: Glance) -> Focus | None:
    tracker = AttentionFocus()
    for glance in series:
        tracker.update(glance)
    return tracker.focus


def sure(position: float, spread: float = 5.0) -> Glance:
    return Glance(position, spread, 0.96)


def test_focus_when_nothing_or_only_doubt_was_seen_then_none() -> None:
    assert AttentionFocus().focus is None
    assert focus_after(*[Glance(600.0, 1.0, 0.6)] * 30) is None


def test_focus_when_position_stands_then_exactly_there() -> None:
    focus = focus_after(*[sure(123.0)] * 9)
    assert focus is not None
    assert focus.position == pytest.approx(123.0, abs=1e-9)
    assert focus.spread == pytest.approx(5.0)
    assert focus.mass == pytest.approx(0.96)


def test_focus_when_speech_moves_steadily_then_one_step_behind() -> None:
    focus = focus_after(*[sure(10.0 * step) for step in range(30)])
    assert focus is not None
    # An average that keeps half lags by one step: sum of k / 2^(k+1) is 1.
    assert focus.position == pytest.approx(280.0, abs=0.1)
    assert focus.spread == pytest.approx(5.0 + 10.0, abs=0.1)


def test_focus_when_two_glances_then_weighted_by_their_mass() -> None:
    focus = focus_after(Glance(100.0, 0.0, 1.0), Glance(400.0, 0.0, 0.9))
    # Weights: half of 1 for the older, 0.9 ** 8 for the newer.
    newer = 0.9**8
    assert focus is not None
    assert focus.position == pytest.approx((0.5 * 100 + newer * 400) / (0.5 + newer))
    assert focus.mass == pytest.approx(0.95)


def test_focus_when_a_timestamp_step_looks_elsewhere_then_it_stays() -> None:
    speech = [sure(10.0 * step) for step in range(30)]
    before = focus_after(*speech)
    after = focus_after(*speech, Glance(900.0, 3.0, 0.6))
    assert before is not None
    assert after is not None
    assert abs(after.position - before.position) < 40
    assert after.mass == pytest.approx((before.mass + 0.6) / 2)
    assert focus_after(*speech, Glance(900.0, 3.0, 0.6), sure(300.0)).position < 310  # type: ignore[union-attr]


def test_focus_when_it_jumps_then_spread_says_so_until_it_has_settled() -> None:
    speech = [sure(10.0 * step) for step in range(30)]
    jumped = [sure(1000.0 + 10 * step) for step in range(8)]
    first = focus_after(*speech, *jumped[:1])
    settled = focus_after(*speech, *jumped)
    assert first is not None
    assert first.spread > 150
    assert settled is not None
    assert settled.position == pytest.approx(1060.0, abs=15)
    assert settled.spread < 30


def test_focus_when_doubt_lasts_then_position_stays_and_mass_falls() -> None:
    focus = focus_after(*[sure(1300.0)] * 5, *[Glance(400.0, 90.0, 0.08)] * 2000)
    assert focus is not None
    assert focus.position == pytest.approx(1300.0, abs=1)
    assert focus.mass == pytest.approx(0.08)
    again = focus_after(
        *[sure(1300.0)] * 5, *[Glance(400.0, 90.0, 0.08)] * 2000, sure(700.0), sure(700.0)
    )
    assert again is not None
    assert again.position == pytest.approx(700.0, abs=1)


def test_focus_when_attention_is_even_then_spread_grows() -> None:
    focus = focus_after(*[sure(200.0)] * 9, *[Glance(600.0, 340.0, 0.9)] * 3)
    assert focus is not None
    assert focus.spread > 200
