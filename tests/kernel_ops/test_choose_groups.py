"""`choose_groups` against the float64 reference: which groups are read, whatever runs them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from murmur_kernels import (
    NO_WEIGHT,
    GroupChoice,
    GroupRanking,
    GroupState,
    Selection,
    Summaries,
    choose_groups,
    decode_attention,
)
from murmur_kernels.reference.choose_groups import (
    choose_groups_reference,
    group_score_reference,
)

SLOTS, HEADS, DIM = 4, 2, 16
FORMULAS = ("cosine", "dot", "minmax", "deviation", "norm", "second_order")


@pytest.fixture(params=["compiled", "torch"], autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What chooses: machine code where this processor runs it, or torch's operations."""
    if request.param == "compiled":
        machine_code = pytest.importorskip("murmur_kernels.compiled.machine_code")
        if not machine_code.runs_here():
            pytest.skip("the machine code is for x86-64 processors with AVX2")
    else:
        for module in ("choose_groups", "decode_attention"):
            owner = __import__(f"murmur_kernels.{module}", fromlist=["x"])
            monkeypatch.setattr(owner, "compiled_choice", lambda *_: None)
    return str(request.param)


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def int32(values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def state(
    generator: torch.Generator,
    sizes: list[int],
    *,
    budget: int,
    pages: bool = False,
    summaries: bool = False,
    averaged: bool = False,
    spread: bool = False,
    room: int = 12,
    dtype: torch.dtype = torch.float32,
) -> GroupState:
    """Groups of these sizes in every slot and KV head, one after the other, of random vectors."""
    ends = torch.tensor(sizes).cumsum(0).int()
    shape = (SLOTS, HEADS, len(sizes))
    log_sizes = torch.tensor([math.log(size) if size else NO_WEIGHT for size in sizes])
    low = torch.randn(*shape, DIM, generator=generator)
    high = low + torch.rand(*shape, DIM, generator=generator)
    return GroupState(
        starts=(ends - int32(sizes)).expand(shape).contiguous(),
        ends=ends.expand(shape).contiguous(),
        log_sizes=log_sizes.expand(shape).contiguous(),
        low=low.to(dtype),
        high=high if pages else None,
        budgets=torch.full(shape[:2], budget, dtype=torch.int32),
        first_entries=int32([3, 0, 5, 1]),
        averages=torch.randn(shape, generator=generator) if averaged else None,
        ranges=torch.full((*shape[:2], room, 2), -7, dtype=torch.int32),
        num_ranges=torch.full(shape[:2], -7, dtype=torch.int32),
        entries_read=torch.full(shape[:2], -7, dtype=torch.int32),
        log_counts=torch.zeros(shape) if summaries else None,
        deviations=1.5 * torch.rand(shape, generator=generator) if spread else None,
    )


def check(
    groups: GroupState,
    ranking: GroupRanking,
    query: torch.Tensor,
    places: list[int],
    due: tuple[bool, ...] | None = None,
    scale: float = 0.7,
) -> None:
    """Run and compare; what is of other slots stays."""
    before = {
        name: getattr(groups, name).clone()
        for name in ("ranges", "num_ranges", "entries_read", "log_counts")
        if getattr(groups, name) is not None
    }
    rows = len(places)
    due = due or (True,) * rows
    choice = GroupChoice(groups, ranking, due, (False,) * rows)
    choose_groups(query, choice, int32(places), scale)
    seen = {place for place, is_due in zip(places, due, strict=True) if is_due and place >= 0}
    for name, old in before.items():
        for slot in set(range(SLOTS)) - seen:
            assert torch.equal(getattr(groups, name)[slot], old[slot]), name
    group = query.shape[1] // HEADS
    for row, place in enumerate(places):
        if place not in seen:
            continue
        for head in range(HEADS):
            expect(
                groups, ranking, query[row, head * group : (head + 1) * group], place, head, scale
            )


def expect(
    groups: GroupState,
    ranking: GroupRanking,
    queries: torch.Tensor,
    place: int,
    head: int,
    scale: float,
) -> None:
    starts, ends = groups.starts[place, head].tolist(), groups.ends[place, head].tolist()
    sizes = [end - start for start, end in zip(starts, ends, strict=True)]
    scores = [
        group_score_reference(
            queries,
            groups.low[place, head, number],
            None if groups.high is None else groups.high[place, head, number],
            formula=ranking.formula,
            reduce=ranking.reduce,
            scale=scale,
            weight=ranking.weight,
            log_size=groups.log_sizes[place, head, number].item() if ranking.by_mass else None,
            deviation=(
                0.0 if groups.deviations is None else groups.deviations[place, head, number].item()
            ),
            reach=ranking.reach,
        )
        for number in range(len(sizes))
    ]
    read = choose_groups_reference(
        scores,
        sizes,
        int(groups.budgets[place, head]),
        whole=groups.log_counts is not None,
        room=groups.ranges.shape[2],
    )
    first = int(groups.first_entries[place])
    wanted = [[first + starts[g], first + starts[g] + size] for g, size in read.taken]
    number = int(groups.num_ranges[place, head])
    assert groups.ranges[place, head, :number].tolist() == wanted
    assert int(groups.entries_read[place, head]) == read.entries
    if groups.log_counts is not None:
        log_counts = groups.log_sizes[place, head].clone()
        log_counts[[group for group, _ in read.taken]] = NO_WEIGHT
        assert torch.equal(groups.log_counts[place, head], log_counts)


SIZES = [3, 1, 4, 0, 5, 2, 7, 2, 6, 5, 3, 5, 8, 0, 0, 0]


@pytest.mark.parametrize("reduce", ["max", "mean"])
@pytest.mark.parametrize("summaries", [False, True])
@pytest.mark.parametrize("formula", FORMULAS)
def test_groups_when_ranked_by_any_formula_then_those_of_reference(
    formula: Any, summaries: bool, reduce: Any
) -> None:
    generator = torch.Generator().manual_seed(0)
    pages = formula not in ("cosine", "dot")
    groups = state(generator, SIZES, budget=19, pages=pages, summaries=summaries)
    ranking = GroupRanking(formula, reduce, weight=0.8)
    query = torch.randn(3, 3 * HEADS, DIM, generator=generator)
    check(groups, ranking, query, [2, 0, 3])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("formula", ["cosine", "dot"])
def test_centroids_when_narrow_then_those_of_reference(formula: Any, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    groups = state(generator, SIZES, budget=23, summaries=True, dtype=dtype)
    query = torch.randn(2, HEADS, DIM, generator=generator)
    check(groups, GroupRanking(formula, "max"), query, [1, 2])


def test_groups_when_ranked_by_mass_then_size_counts() -> None:
    generator = torch.Generator().manual_seed(2)
    groups = state(generator, SIZES, budget=23, summaries=True)
    query = torch.randn(1, 2 * HEADS, DIM, generator=generator)
    check(groups, GroupRanking("dot", "max", by_mass=True), query, [0])


@pytest.mark.parametrize("reduce", ["max", "mean"])
@pytest.mark.parametrize("reach", [0.0, 1.7])
@pytest.mark.parametrize("scale", [0.7, -0.2, 0.1])
def test_groups_when_their_keys_are_spread_then_those_of_reference(
    scale: float, reach: float, reduce: Any
) -> None:
    generator = torch.Generator().manual_seed(12)
    groups = state(generator, SIZES, budget=23, summaries=True, spread=True)
    query = torch.randn(3, 2 * HEADS, DIM, generator=generator)
    ranking = GroupRanking("dot", reduce, by_mass=True, reach=reach)
    check(groups, ranking, query, [0, 3, 1], scale=scale)


@pytest.mark.parametrize("is_fresh", [False, True])
def test_averages_when_keys_are_spread_then_of_the_whole_score(is_fresh: bool) -> None:
    generator = torch.Generator().manual_seed(13)
    groups = state(generator, SIZES, budget=9, averaged=True, spread=True)
    assert groups.averages is not None
    assert groups.deviations is not None
    before = groups.averages.clone()
    query = torch.randn(1, HEADS, DIM, generator=generator)
    ranking = GroupRanking("dot", "max", by_mass=True, reach=0.5, decay=0.25)
    choose_groups(query, GroupChoice(groups, ranking, (True,), (is_fresh,)), int32([2]), 0.3)
    for head in range(HEADS):
        for group in range(len(SIZES)):
            if not SIZES[group]:
                assert groups.averages[2, head, group] == before[2, head, group]
                continue
            score = group_score_reference(
                query[0, head : head + 1],
                groups.low[2, head, group],
                None,
                formula="dot",
                reduce="max",
                scale=0.3,
                weight=1.0,
                log_size=groups.log_sizes[2, head, group].item(),
                deviation=groups.deviations[2, head, group].item(),
                reach=0.5,
            )
            wanted = score if is_fresh else 0.25 * before[2, head, group].item() + 0.75 * score
            assert groups.averages[2, head, group].item() == pytest.approx(wanted, abs=1e-5)


def test_rows_when_not_due_or_without_a_place_then_nothing_is_written() -> None:
    generator = torch.Generator().manual_seed(3)
    groups = state(generator, SIZES, budget=9, summaries=True)
    query = torch.randn(4, HEADS, DIM, generator=generator)
    due = (True, False, True, True)
    check(groups, GroupRanking("cosine", "max"), query, [3, 1, -1, 0], due)


def test_budget_when_beyond_all_groups_then_everything_is_read() -> None:
    generator = torch.Generator().manual_seed(4)
    groups = state(generator, SIZES, budget=1000, room=16)
    query = torch.randn(1, HEADS, DIM, generator=generator)
    check(groups, GroupRanking("dot", "max"), query, [0])
    assert groups.entries_read[0].tolist() == [sum(SIZES)] * HEADS


def test_ranges_when_there_is_room_for_few_then_the_best_of_them() -> None:
    generator = torch.Generator().manual_seed(5)
    groups = state(generator, SIZES, budget=1000, room=3)
    query = torch.randn(1, HEADS, DIM, generator=generator)
    check(groups, GroupRanking("dot", "max"), query, [2])
    assert groups.num_ranges[2].tolist() == [3, 3]


def test_groups_when_equal_then_the_first_are_read() -> None:
    generator = torch.Generator().manual_seed(6)
    groups = state(generator, [2] * 16, budget=8)
    groups.low[:] = 1.0
    query = torch.ones(1, HEADS, DIM)
    check(groups, GroupRanking("cosine", "max"), query, [1])
    assert groups.ranges[1, 0, :4].tolist() == [[0, 2], [2, 4], [4, 6], [6, 8]]


def test_vectors_when_zero_then_their_cosine_is_zero() -> None:
    generator = torch.Generator().manual_seed(7)
    groups = state(generator, [2] * 8, budget=6)
    groups.low[:, :, 3] = 0.0
    check(
        groups, GroupRanking("cosine", "max"), torch.randn(1, HEADS, DIM, generator=generator), [0]
    )
    check(groups, GroupRanking("cosine", "max"), torch.zeros(1, HEADS, DIM), [0])


@pytest.mark.parametrize("is_fresh", [False, True])
def test_averages_when_kept_then_mixed_or_begun_anew(is_fresh: bool) -> None:
    generator = torch.Generator().manual_seed(8)
    groups = state(generator, SIZES, budget=9, averaged=True)
    assert groups.averages is not None
    before = groups.averages.clone()
    query = torch.randn(1, HEADS, DIM, generator=generator)
    ranking = GroupRanking("cosine", "max", decay=0.25)
    choose_groups(query, GroupChoice(groups, ranking, (True,), (is_fresh,)), int32([2]), 1.0)
    q, c = query[0].double(), groups.low[2].double()
    cosine = torch.einsum("hd,hgd->hg", q, c) / (q.norm(dim=1)[:, None] * c.norm(dim=2))
    wanted = cosine if is_fresh else 0.25 * before[2].double() + 0.75 * cosine
    used = groups.ends[2] > groups.starts[2]
    torch.testing.assert_close(groups.averages[2][used].double(), wanted[used], rtol=0, atol=1e-6)
    assert torch.equal(groups.averages[2][~used], before[2][~used])
    for slot in (0, 1, 3):
        assert torch.equal(groups.averages[slot], before[slot])


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_attention_when_given_the_choice_then_as_after_it(dtype: torch.dtype) -> None:
    for count in (1, 2):
        torch.set_num_threads(count)
        generator = torch.Generator().manual_seed(9)
        groups = state(generator, SIZES, budget=19, summaries=True, dtype=dtype)
        keys, values = torch.randn(2, SLOTS, HEADS, 60, DIM, generator=generator).to(dtype)
        query = torch.randn(3, 2 * HEADS, DIM, generator=generator)
        places = int32([2, -1, 0])
        means = torch.randn(SLOTS, HEADS, len(SIZES), DIM, generator=generator).to(dtype)
        assert groups.log_counts is not None
        selection = Selection(
            slots=int32([2, 3, 0]),
            active=torch.ones(3, dtype=torch.bool),
            ranges=int32([[[0, 2]], [[4, 9]], [[0, 0]]]),
            num_ranges=int32([1, 1, 0]),
            head_ranges=groups.ranges,
            num_head_ranges=groups.num_ranges,
            summaries=Summaries(
                groups.low,
                means,
                groups.log_counts,
                torch.full((SLOTS, HEADS), len(SIZES), dtype=torch.int32),
            ),
            places=places,
        )
        choice = GroupChoice(groups, GroupRanking("cosine", "max"), (True,) * 3, (False,) * 3)
        found = decode_attention(
            query, keys, values, selection, 0.5, (1,), log_sum_exp=True, choice=choice
        )
        after = decode_attention(
            query, keys, values, selection.by_row(), 0.5, (1,), log_sum_exp=True
        )
        again = groups.ranges.clone()
        choose_groups(query, choice, places, 0.5)
        assert torch.equal(again, groups.ranges)
        for one, other in zip(found, after, strict=True):
            assert one is not None
            assert other is not None
            torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


def test_state_when_it_does_not_fit_then_value_error_names_it() -> None:
    generator = torch.Generator().manual_seed(10)
    with pytest.raises(ValueError, match="multiple of 8 groups, got 5"):
        state(generator, [1] * 5, budget=1)
    with pytest.raises(ValueError, match="at most 128 are allowed"):
        state(generator, [1] * 8, budget=1, room=129)
    with pytest.raises(ValueError, match="by_mass adds to 'dot', not to 'cosine'"):
        GroupRanking("cosine", "max", by_mass=True)
    with pytest.raises(ValueError, match="reach adds to a mass"):
        GroupRanking("dot", "max", reach=1.0)
    groups = state(generator, [1] * 8, budget=1, spread=True)
    query = torch.zeros(1, HEADS, DIM)
    choice = GroupChoice(groups, GroupRanking("dot", "max"), (True,), (True,))
    with pytest.raises(ValueError, match="deviations are of ranks by mass"):
        choose_groups(query, choice, int32([0]), 1.0)
    groups = state(generator, [1] * 8, budget=1)
    choice = GroupChoice(groups, GroupRanking("minmax", "max"), (True,), (True,))
    with pytest.raises(ValueError, match="'minmax' and high do not go together"):
        choose_groups(query, choice, int32([0]), 1.0)
    choice = replace(choice, ranking=GroupRanking("dot", "max"), due=())
    with pytest.raises(ValueError, match="the choice is that of 0 rows"):
        choose_groups(query, choice, int32([0]), 1.0)
