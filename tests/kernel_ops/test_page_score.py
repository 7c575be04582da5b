"""`page_score` against the float64 reference, and the properties its formulas promise."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from murmur_kernels import page_score, page_stats
from murmur_kernels.reference.page_score import page_score_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

UNIT = 2.0**-24
Formula = Literal["minmax", "deviation", "norm", "second_order"]
Reduce = Literal["max", "mean"]
FORMULAS: tuple[Formula, ...] = ("minmax", "deviation", "norm", "second_order")


@pytest.fixture(params=KERNEL_PATHS, autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch, "page_score", "page_stats")


def int32(values: list[int], device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def check(
    query: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    counts: list[int],
    formula: Formula,
    reduce: Reduce,
    weight: float = 1.0,
) -> None:
    """Against the reference; pages beyond a row's count are NaN, its scores -inf."""
    low, high = low.clone(), high.clone()
    for row, count in enumerate(counts):
        low[row, :, count:], high[row, :, count:] = math.nan, math.nan
    got = page_score(
        query,
        low,
        high,
        int32(counts, query.device),
        formula=formula,
        reduce=reduce,
        weight=weight,
    )
    query, low, high = query.cpu(), low.cpu(), high.cpu()
    wanted = page_score_reference(query, low, high, counts, formula, reduce, weight)
    size = page_score_reference(
        query.abs(), low.abs(), high.abs(), counts, formula, "max", abs(weight)
    )
    bound = (query.shape[2] + 16) * UNIT * size
    assert torch.equal(got.cpu().isneginf(), wanted.isneginf())
    within = (got.double().cpu() - wanted).abs() <= bound
    assert (within | wanted.isneginf()).all()


def make_stats(
    rows: int, heads: int, pages: int, dim: int, formula: str, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    low, second = torch.randn(2, rows, heads, pages, dim, device=device)
    return (low, low + second.abs()) if formula == "minmax" else (low, second.abs())


@pytest.mark.parametrize("reduce", ["max", "mean"])
@pytest.mark.parametrize("group", [1, 4, 7])
@pytest.mark.parametrize("formula", FORMULAS)
def test_grouped_heads_when_rows_differ_in_pages_then_equal_reference(
    device: torch.device, formula: Formula, group: int, reduce: Reduce
) -> None:
    query = torch.randn(2, 2 * group, 20, device=device)
    check(query, *make_stats(2, 2, 5, 20, formula, device), [5, 3], formula, reduce, 0.7)


@pytest.mark.parametrize("pages", [1, 15, 16, 17, 99])
def test_pages_when_of_any_number_then_equal_reference(device: torch.device, pages: int) -> None:
    query = torch.randn(1, 2, 64, device=device)
    check(query, *make_stats(1, 1, pages, 64, "minmax", device), [pages], "minmax", "max")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_query_when_of_lower_precision_then_equals_reference(
    device: torch.device, dtype: torch.dtype
) -> None:
    query = torch.randn(1, 2, 128, device=device).to(dtype)
    check(query, *make_stats(1, 2, 3, 128, "deviation", device), [3], "deviation", "mean")


def test_query_when_extreme_then_equals_reference(device: torch.device) -> None:
    query = torch.randn(1, 2, 64, device=device) * 1e4
    check(query, *make_stats(1, 2, 9, 64, "minmax", device), [9], "minmax", "max")


def test_pages_when_those_of_the_design_then_one_and_three(device: torch.device) -> None:
    low = torch.tensor([[0.0, 0], [-1, -1]], device=device)[None, None]
    high = torch.tensor([[1.0, 1], [2, 2]], device=device)[None, None]
    query = torch.tensor([[[1.0, -1]]], device=device)
    scores = page_score(query, low, high, int32([2], device), formula="minmax", reduce="max")
    assert scores.tolist() == [[[1, 3]]]


def test_minmax_when_compared_with_each_key_then_no_less(device: torch.device) -> None:
    keys = torch.randn(1, 2, 32, 16, device=device)
    low, high = torch.empty(2, 1, 2, 4, 16, device=device)
    region = (int32([0], device), int32([0], device), int32([32], device))
    page_stats(keys, *region, low, high, page_size=8, kind="minmax")
    query = torch.randn(1, 2, 16, device=device)
    bound = page_score(query, low, high, int32([4], device), formula="minmax", reduce="max")
    largest = torch.einsum("hd,hjd->hj", query[0], keys[0]).unflatten(1, (4, 8)).amax(dim=2)
    assert (bound[0] >= largest - 1e-4).all()


def test_deviation_when_pages_hold_two_entries_then_same_as_minmax(device: torch.device) -> None:
    keys = torch.randn(1, 1, 12, 16, device=device)
    query = torch.randn(1, 4, 16, device=device)
    region = (int32([0], device), int32([0], device), int32([12], device))
    scores = []
    for kind in ("minmax", "deviation"):
        low, high = torch.empty(2, 1, 1, 6, 16, device=device)
        page_stats(keys, *region, low, high, page_size=2, kind=kind)
        scores.append(page_score(query, low, high, int32([6], device), formula=kind, reduce="max"))
    torch.testing.assert_close(scores[0], scores[1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("formula", ["deviation", "norm", "second_order"])
def test_weight_when_larger_then_scores_are_no_smaller(
    device: torch.device, formula: Formula
) -> None:
    query = torch.randn(1, 2, 16, device=device)
    low, high = make_stats(1, 2, 6, 16, formula, device)
    by_weight = [
        page_score(
            query, low, high, int32([6], device), formula=formula, reduce="max", weight=weight
        )
        for weight in (0.0, 0.5, 1.0)
    ]
    assert (by_weight[0] <= by_weight[1]).all()
    assert (by_weight[1] <= by_weight[2]).all()


def test_heads_when_one_is_sharp_and_others_flat_then_only_max_follows_it(
    device: torch.device,
) -> None:
    # Page 0 matters much to head 0; page 1 a little to all three others.
    query = torch.tensor([[[3.0, 0]] + [[0, 1.5]] * 3], device=device)
    low = torch.tensor([[1.0, 0], [0, 1]], device=device)[None, None]
    counts = int32([2], device)
    by_max = page_score(query, low, low, counts, formula="minmax", reduce="max")
    by_mean = page_score(query, low, low, counts, formula="minmax", reduce="mean")
    assert by_max.tolist() == [[[3, 1.5]]]
    assert by_mean.tolist() == [[[0.75, 1.125]]]


def test_rows_when_inactive_then_output_is_kept_or_minus_infinity(device: torch.device) -> None:
    query = torch.randn(2, 1, 8, device=device)
    low, high = make_stats(2, 1, 40, 8, "minmax", device)
    counts, active = int32([3, 3], device), torch.tensor([False, True], device=device)
    out = torch.full((2, 1, 40), -77.0, device=device)
    arguments = (query, low, high, counts)
    got = page_score(*arguments, formula="minmax", reduce="max", active=active, out=out)
    assert got is out
    assert (out[0] == -77).all()
    assert out[1, :, :3].isfinite().all()
    assert out[1, :, 3:].isneginf().all()
    new = page_score(*arguments, formula="minmax", reduce="max", active=active)
    assert new[0].isneginf().all()
    assert torch.equal(new[1], out[1])


def test_views_when_given_then_strides_are_kept(device: torch.device) -> None:
    query = torch.randn(2, 16, 4, device=device).mT
    low, high = (s.mT for s in make_stats(2, 2, 16, 6, "minmax", device))
    check(query, low, high, [6, 4], "minmax", "mean")


def test_arguments_when_they_do_not_fit_then_value_error_names_them(device: torch.device) -> None:
    query = torch.randn(1, 3, 8, device=device)
    low, high = make_stats(1, 2, 4, 8, "minmax", device)
    with pytest.raises(ValueError, match="3 query heads do not fit 2 KV heads"):
        page_score(query, low, high, int32([4], device), formula="minmax", reduce="max")
    with pytest.raises(ValueError, match="want low of float32, got float16"):
        page_score(query, low.half(), high, int32([4], device), formula="minmax", reduce="max")
