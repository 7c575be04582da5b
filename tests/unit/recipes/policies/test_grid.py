"""What a budget means to each policy."""

from __future__ import annotations

import pytest

from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.registry import RETRIEVAL
from murmur_cli.engine.regions import Focus, RowView, count_entries
from policies.grid import VARIANTS, budgeted, grid, policy_of

NANO_RATES = RequestRates(7.5, 2.8, 300.0)


def variant(policy: str):  # type: ignore[no-untyped-def]
    return next(one for one in VARIANTS if one.policy == policy)


def test_variants_name_every_policy_with_a_budget_once_by_label() -> None:
    assert len({one.label for one in VARIANTS}) == len(VARIANTS)
    assert {one.policy for one in VARIANTS} == {*RETRIEVAL, "align", "speech", "streaming"}


@pytest.mark.parametrize("rates", [WHISPER_RATES, NANO_RATES], ids=["whisper", "nano"])
def test_every_setting_of_the_grid_is_a_policy(rates: RequestRates) -> None:
    for _, _, setting in grid((16, 64, 256, 1024), rates, heads_are_shared=True):
        assert policy_of(setting, rates).name == setting.name


def test_align_when_focus_is_known_then_reads_the_budget() -> None:
    setting = budgeted(variant("align"), 256, WHISPER_RATES)
    assert setting is not None
    row = RowView(50, 1500, 50, focus=Focus(700.0, 5.0, 1.0))
    chosen = policy_of(setting, WHISPER_RATES).select(row).speech
    assert chosen is not None
    assert count_entries(chosen) in (255, 256)


def test_speech_when_edges_have_moved_then_reads_the_budget() -> None:
    setting = budgeted(variant("speech"), 256, WHISPER_RATES)
    assert setting is not None
    chosen = policy_of(setting, WHISPER_RATES).select(RowView(60, 1500, 60)).speech
    assert chosen is not None
    assert count_entries(chosen) == 256


def test_streaming_when_row_is_long_then_the_budget_counts_all_regions() -> None:
    setting = budgeted(variant("streaming"), 256, NANO_RATES)
    assert setting is not None
    row = RowView(100, 2250, 100, prompt_entries=2, suffix_entries=1)
    selection = policy_of(setting, NANO_RATES).select(row)
    assert selection.speech is not None
    # Two sinks are the prompt's; the last 252 entries begin in the speech.
    assert selection.speech == ((0, 2), (2250 - (252 - 101), 2250))
    assert selection.output == ((0, 100),)


@pytest.mark.parametrize("policy", ["align", "speech"])
def test_window_when_smaller_than_the_tail_then_no_setting(policy: str) -> None:
    assert budgeted(variant(policy), 128, WHISPER_RATES) is None


def test_streaming_when_speech_has_a_cache_of_its_own_then_no_setting() -> None:
    assert budgeted(variant("streaming"), 256, WHISPER_RATES) is None


def test_grid_when_each_head_has_its_own_cache_then_no_choice_over_heads() -> None:
    labels = {one.label for one, _, _ in grid([64], WHISPER_RATES, heads_are_shared=False)}
    assert "quest" in labels
    assert not any("over heads" in label for label in labels)
