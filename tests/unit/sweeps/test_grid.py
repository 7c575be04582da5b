"""Grids: what the options of the command line mean."""

from __future__ import annotations

import pytest

from murmur_cli.errors import UsageError
from murmur_cli.sweeps.grid import (
    ChunkSize,
    PolicySetting,
    grid_of,
    parse_policy,
    parse_sizes,
    parse_variants,
    with_variants,
)


def test_sizes_when_named_twice_and_out_of_order_then_each_once_the_shortest_first() -> None:
    assert [size.label for size in parse_sizes("full, 300,30 ,300")] == ["30", "300", "full"]


@pytest.mark.parametrize("text", ["", "30,x", "0", "nan", "inf", "-5"])
def test_sizes_when_wrong_then_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--sizes"):
        parse_sizes(text)


def test_size_when_whole_then_the_length_rounded_up() -> None:
    assert ChunkSize(None).ceiling_s(30.00006) == 31.0
    assert ChunkSize(None).ceiling_s(0.2) == 1.0
    assert ChunkSize(300.0).ceiling_s(30.0) == 300.0


def test_policy_when_it_has_options_then_their_order_does_not_matter() -> None:
    one = parse_policy("speech:window=300,delay=0")
    assert one == parse_policy("speech: delay=0, window=300")
    assert one.label == "speech:delay=0,window=300"
    assert parse_policy("none").label == "none"


@pytest.mark.parametrize("text", ["", ":window=3", "speech:", "speech:window", "speech:a=1,a=2"])
def test_policy_when_wrong_then_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--evict"):
        parse_policy(text)


def test_variants_when_two_options_vary_then_all_combinations() -> None:
    variants = parse_variants(["speech.window=10,20", "speech.delay=0,5"])
    made = with_variants([PolicySetting("none"), PolicySetting("speech")], variants, {})
    assert [policy.label for policy in made] == [
        "none",
        "speech:delay=0,window=10",
        "speech:delay=5,window=10",
        "speech:delay=0,window=20",
        "speech:delay=5,window=20",
    ]


def test_variants_when_a_policy_takes_budgets_then_only_it_is_multiplied() -> None:
    none, c3 = PolicySetting("none"), PolicySetting("c3")
    made = with_variants([none, c3], {}, {c3: ("64", "0.25")})
    assert [policy.label for policy in made] == ["none", "c3:budget=64", "c3:budget=0.25"]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["window=3"], "write POLICY.KEY"),
        (["speech.window="], "write POLICY.KEY"),
        (["speech.window=1", "speech.window=2"], "given twice"),
    ],
)
def test_variants_when_wrong_then_refused(texts: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_variants(texts)


def test_variants_when_the_policy_is_not_in_the_sweep_then_refused() -> None:
    with pytest.raises(UsageError, match="not in the sweep; there: none"):
        with_variants([PolicySetting("none")], {"speech": {"window": ("1",)}}, {})


def test_variants_when_an_option_is_set_and_varied_then_refused() -> None:
    with pytest.raises(UsageError, match="window is varied, too"):
        with_variants([parse_policy("speech:window=1")], {"speech": {"window": ("2", "3")}}, {})


def test_grid_when_crossed_then_every_combination_once() -> None:
    grid = grid_of(["a", "b", "a"], parse_sizes("30,full"), [PolicySetting("none")])
    assert [setting.label for setting in grid] == [
        "a, chunk 30, none",
        "a, chunk full, none",
        "b, chunk 30, none",
        "b, chunk full, none",
    ]
