"""`topk_select`: exact lists, equals by lowest index, protected entries."""

from __future__ import annotations

import math

import pytest
import torch

from murmur_kernels import topk_select
from murmur_kernels.reference.topk_select import topk_select_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

SENTINEL = -77


@pytest.fixture(params=KERNEL_PATHS, autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch, "topk_select")


def int32(values: list[list[int]], device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def select(
    scores: torch.Tensor,
    counts: list[list[int]],
    budgets: list[list[int]],
    width: int,
    protected: torch.Tensor | None = None,
    starts: list[int] | None = None,
) -> list[list[list[int]]]:
    """The lists; what they do not fill must have kept the sentinel."""
    device, shape = scores.device, scores.shape[:2]
    indices = torch.full((*shape, width), SENTINEL, dtype=torch.int32, device=device)
    number = torch.full(shape, SENTINEL, dtype=torch.int32, device=device)
    topk_select(
        scores,
        int32(counts, device),
        int32(budgets, device),
        indices,
        number,
        protected=protected,
        starts=None if starts is None else torch.tensor(starts, device=device).int(),
    )
    lists = []
    for row in range(shape[0]):
        lists.append([])
        for head in range(shape[1]):
            count = int(number[row, head])
            assert (indices[row, head, count:] == SENTINEL).all()
            lists[row].append(indices[row, head, :count].tolist())
    return lists


def check(
    scores: torch.Tensor,
    counts: list[list[int]],
    budgets: list[list[int]],
    width: int,
    protected: torch.Tensor | None = None,
    starts: list[int] | None = None,
) -> None:
    """Against the reference; scores beyond a count are infinite, so a stray read is chosen."""
    scores = scores.clone()
    for row, heads in enumerate(counts):
        for head, count in enumerate(heads):
            scores[row, head, count:] = math.inf
    got = select(scores, counts, budgets, width, protected, starts)
    shield = None if protected is None else protected.cpu()
    assert got == topk_select_reference(scores.cpu(), counts, budgets, width, shield, starts)


@pytest.mark.parametrize("entries", [1, 15, 16, 17, 99, 1025])
def test_scores_when_of_any_number_then_equal_reference(device: torch.device, entries: int) -> None:
    check(torch.randn(1, 2, entries, device=device), [[entries, 1]], [[entries // 3 + 1, 1]], 400)


def test_scores_when_longer_than_a_block_then_equal_reference(device: torch.device) -> None:
    scores = torch.randn(1, 1, 5000, device=device).round(decimals=1)
    check(scores, [[4999]], [[700]], 700)


def test_budgets_and_counts_when_they_differ_then_each_list_has_its_own(
    device: torch.device,
) -> None:
    counts = [[20, 7], [0, 20], [3, 20]]
    budgets = [[5, 20], [4, 0], [3, 15]]
    check(torch.randn(3, 2, 20, device=device), counts, budgets, 12, starts=[0, 100, 7])


def test_scores_when_many_are_equal_then_lowest_indices(device: torch.device) -> None:
    scores = torch.tensor([[[1.0, 2, 1, 2, 1, 0, 1]]], device=device)
    assert select(scores, [[7]], [[4]], 7) == [[[0, 1, 2, 3]]]
    assert select(torch.zeros(1, 1, 30, device=device), [[30]], [[5]], 8) == [[[0, 1, 2, 3, 4]]]
    check(
        torch.randint(-3, 3, (2, 2, 40), device=device).float(), [[40] * 2] * 2, [[17, 23]] * 2, 40
    )


def test_zeros_when_of_both_signs_then_equal(device: torch.device) -> None:
    scores = torch.tensor([[[-0.0, 0.0, -0.0, 0.0]]], device=device)
    assert select(scores, [[4]], [[2]], 4) == [[[0, 1]]]


def test_scores_when_infinite_or_nan_then_nan_is_last(device: torch.device) -> None:
    values = [math.nan, -math.inf, 3e38, math.inf, -3e38, 1e-40, -1e-40, -math.nan]
    scores = torch.tensor([[values]], device=device)
    for budget in range(9):
        check(scores, [[8]], [[budget]], 8)
    assert select(scores, [[8]], [[6]], 8) == [[[1, 2, 3, 4, 5, 6]]]


def test_protected_when_low_then_chosen_and_counted(device: torch.device) -> None:
    scores = torch.tensor([[[math.inf, 9.0, math.nan, 8, -5, 7]]], device=device)
    protected = torch.tensor([[[False, False, True, False, True, False]]], device=device)
    assert select(scores, [[6]], [[4]], 6, protected) == [[[0, 1, 2, 4]]]
    assert select(scores, [[6]], [[1]], 6, protected) == [[[2]]]
    assert select(scores, [[4]], [[2]], 6, protected) == [[[0, 2]]]  # entry 4 is beyond the count


def test_protected_when_shared_by_heads_then_equals_reference(device: torch.device) -> None:
    protected = (torch.rand(2, 1, 50, device=device) < 0.2).expand(2, 3, 50)
    check(torch.randn(2, 3, 50, device=device), [[50, 40, 3]] * 2, [[20, 5, 3]] * 2, 50, protected)


def test_budget_when_it_covers_all_then_all(device: torch.device) -> None:
    scores = torch.randn(1, 1, 33, device=device)
    assert select(scores, [[33]], [[1000]], 64) == [[list(range(33))]]


def test_budget_when_beyond_the_width_then_cut_to_it(device: torch.device) -> None:
    scores = torch.arange(9.0, device=device)[None, None]
    assert select(scores, [[9]], [[5]], 2) == [[[7, 8]]]


def test_budget_or_count_when_none_then_empty(device: torch.device) -> None:
    scores = torch.randn(1, 3, 9, device=device)
    assert select(scores, [[9, 0, 9]], [[0, 5, -2]], 4) == [[[], [], []]]


def test_rows_when_inactive_then_lists_stay(device: torch.device) -> None:
    scores = torch.randn(2, 1, 9, device=device)
    indices = torch.full((2, 1, 4), SENTINEL, dtype=torch.int32, device=device)
    number = torch.full((2, 1), SENTINEL, dtype=torch.int32, device=device)
    full = int32([[9], [9]], device)
    active = torch.tensor([False, True], device=device)
    topk_select(scores, full, int32([[3], [3]], device), indices, number, active=active)
    assert (indices[0] == SENTINEL).all()
    assert number.tolist() == [[SENTINEL], [3]]


def test_views_when_given_then_strides_are_kept(device: torch.device) -> None:
    scores = torch.randn(2, 30, 2, device=device).mT
    indices = torch.full((2, 8, 2), SENTINEL, dtype=torch.int32, device=device).mT
    number = torch.zeros(2, 2, dtype=torch.int32, device=device).mT
    counts, budgets = int32([[30, 30], [30, 4]], device), int32([[5, 8], [1, 8]], device)
    topk_select(scores, counts.mT, budgets.mT, indices, number)
    wanted = topk_select_reference(scores.cpu(), counts.mT.tolist(), budgets.mT.tolist(), 8)
    for row in range(2):
        for head in range(2):
            assert indices[row, head, : number[row, head]].tolist() == wanted[row][head]
