"""Budgets by layer and head: the text form, who may read what, and how a mean is shared out."""

from __future__ import annotations

import pytest
import torch

from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.head_budgets import share_out
from murmur_cli.engine.policies.kv_budget import KvBudget
from murmur_cli.engine.policies.registry import RETRIEVAL, build_policy
from murmur_cli.engine.policies.retrieval import check_heads
from murmur_cli.engine.regions import RowView
from murmur_cli.errors import UsageError
from murmur_cli.types.kv_shares import HeadSpread
from support.indexed_speech import IndexedSpeech

RATES = RequestRates(50.0, 7.0, 30.0)
BY_HEAD = KvBudget.parse("0.1,0.2;;0.5,0.05")
WITHOUT_HEADS = ("pyramidkv",)
ONE_LIST = ("chunkkv", "voxzip")
"""Policies whose heads of a layer share one choice."""
BY_PROMPT = ("h2o", "snapkv", "chunkkv", "voxzip")


def spread(*shares: float) -> tuple[HeadSpread, ...]:
    return tuple(HeadSpread(share, 1.0) for share in shares)


def test_budget_when_given_by_head_then_of_each_head_rounded_down() -> None:
    assert BY_HEAD.by_head == ((0.1, 0.2), (), (0.5, 0.05))
    heads = [BY_HEAD.of_head(layer, head, 95) for layer in (0, 2) for head in (0, 1)]
    assert heads == [9, 19, 47, 4]
    assert (BY_HEAD.of(95), BY_HEAD.most(95)) == (20, 47)  # the mean is 19.75
    assert BY_HEAD.of_layer(2, 95) == 26  # of 25.5, to even
    assert BY_HEAD.of_head(2, 1, 3) == 1


def test_budget_when_given_by_head_then_its_text_is_what_was_parsed() -> None:
    assert str(BY_HEAD) == "0.1,0.2;;0.5,0.05"
    assert str(KvBudget.parse("256")) == "256"


def test_budget_when_given_by_head_then_a_row_is_whole_only_if_every_head_reads_it() -> None:
    budget = KvBudget.parse("1.0,0.5")
    assert not budget.covers(2)
    assert budget.covers(1)  # at least one entry each
    policy = build_policy("c3", {"budget": "1.0,0.5"}, RATES)
    assert policy.select(RowView(1, 100, 1)).speech is None


def test_budget_when_of_some_layers_then_counted_anew() -> None:
    assert BY_HEAD.of_layers([2]).by_head == ((0.5, 0.05),)
    assert KvBudget(entries=7).of_layers([3]) == KvBudget(entries=7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.1,2", "--kv-budget 2: a share is above 0 and at most 1"),
        ("0.1,x", "--kv-budget 0.1,x: give entries"),
        (";", "--kv-budget ;: give entries"),
        ("auto", "--kv-budget auto: only 'murmur transcribe --kv-budget auto' reads a recipe"),
    ],
)
def test_budget_by_head_when_wrong_then_usage_error(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        KvBudget.parse(text)
    assert str(error.value).startswith(message)


def test_heads_when_of_another_model_then_usage_error_with_the_cure() -> None:
    policy = build_policy("c3r", {"budget": str(BY_HEAD)}, RATES)
    check_heads(policy, (2, 0, 2))
    check_heads(build_policy("none", {}, RATES), (8,) * 6)
    with pytest.raises(UsageError) as error:
        check_heads(policy, (8,) * 6)
    assert str(error.value) == (
        "--kv-budget: has shares for 2 layers of 2 KV heads, and the model has 6 layers of 8 KV "
        "heads; run 'murmur calibrate' with this model"
    )


@pytest.mark.parametrize("name", [name for name in RETRIEVAL if name not in WITHOUT_HEADS])
def test_policy_when_heads_differ_then_each_reads_its_own_share(name: str) -> None:
    torch.manual_seed(0)
    keys, query = torch.randn(2, 2, 400, 8), torch.randn(2, 4, 8)
    options: dict[str, object] = {"budget": "0.2,0.6;0.8,0.4"}
    options |= {"chunk": 1, "reuse": 1} if name == "chunkkv" else {}
    options |= {"split": "size"} if name == "c3r" else {}  # nodes of nearly one size
    prompt = torch.randn(2, 3, 4, 8) if name in BY_PROMPT else None
    speech = IndexedSpeech(name, keys, layers=2, prompt=prompt, **options)
    for layer, heads in enumerate([(80, 240), (320, 160)]):
        if name in ONE_LIST:
            heads = (sum(heads) // 2,) * 2
        for row in speech.kept(query, layer=layer):
            for kept, budget in zip(row, heads, strict=True):
                # With a remainder only whole groups, of pages only whole pages.
                assert len(kept) <= budget
                assert len(kept) > budget - 17


def test_pyramidkv_when_heads_differ_then_usage_error_says_why() -> None:
    with pytest.raises(UsageError, match="pyramidkv shares its budget out over the layers"):
        build_policy("pyramidkv", {"budget": "0.1,0.2"}, RATES)


def test_shares_when_spreads_differ_then_in_proportion_within_bounds() -> None:
    # Mean 0.2: bounds 0.1 and 0.4. Factor 2 gives 0.1 (raised from 0.02), 0.2, 0.3.
    shares = share_out([spread(0.01, 0.1), (), spread(0.15)], 0.2)
    assert shares == ((0.1, 0.2), (), (0.3,))


def test_shares_when_one_head_is_very_wide_then_no_more_than_two_means() -> None:
    # Mean 0.1: the wide head stops at 0.2, so the other four share 0.3 among them.
    (shares,) = share_out([spread(0.9, 0.001, 0.001, 0.001, 0.001)], 0.1)
    assert shares == (0.2, 0.075, 0.075, 0.075, 0.075)


def test_shares_when_the_mean_is_tiny_then_none_is_zero() -> None:
    (shares,) = share_out([spread(0.9, 0.001, 0.001, 0.001, 0.001)], 2e-5)
    assert shares == (4e-05, 1.5e-05, 1.5e-05, 1.5e-05, 1.5e-05)


@pytest.mark.parametrize("mean", [0.01, 0.125, 0.5, 1.0])
def test_shares_when_shared_out_then_their_mean_is_what_was_asked(mean: float) -> None:
    torch.manual_seed(1)
    spreads = [spread(*row) for row in (torch.rand(6, 8) ** 3).tolist()]
    shares = [share for row in share_out(spreads, mean) for share in row]
    assert sum(shares) / len(shares) == pytest.approx(mean, abs=1e-4)
    assert all(mean / 2 - 1e-4 <= share <= min(1.0, 2 * mean) + 1e-4 for share in shares)
