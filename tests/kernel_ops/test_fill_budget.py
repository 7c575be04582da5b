"""`fill_budget` and `fill_ranges`: exact lists against a walk over the groups."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from murmur_kernels import fill_budget, fill_ranges
from murmur_kernels.reference.fill_budget import Spans, fill_budget_reference, fill_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

SENTINEL = -77


@pytest.fixture(params=KERNEL_PATHS, autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch, "fill_budget", "fill_ranges")


def int32(values: object, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def sentinel(shape: tuple[int, ...], device: torch.device) -> torch.Tensor:
    return torch.full(shape, SENTINEL, dtype=torch.int32, device=device)


@dataclass(frozen=True)
class Groups:
    """Groups that partition the places of every (row, KV head), in a random order."""

    order: torch.Tensor
    node_starts: torch.Tensor
    node_ends: torch.Tensor
    counts: torch.Tensor
    permutation: torch.Tensor

    def of(self, row: int, head: int) -> tuple[list[int], Spans]:
        order = self.order[row, head, : self.counts[row, head]].tolist()
        starts, ends = self.node_starts[row, head].tolist(), self.node_ends[row, head].tolist()
        return order, list(zip(starts, ends, strict=True))


def make_groups(
    rows: int, heads: int, groups: int, places: int, device: torch.device, fewer: int = 0
) -> Groups:
    """`fewer`: groups of the last head that are padding, whose numbers are nonsense."""
    edges = torch.randint(0, places + 1, (rows, heads, groups - 1)).sort(dim=2).values
    low = torch.cat([torch.zeros(rows, heads, 1), edges], dim=2).int()
    high = torch.cat([edges, torch.full((rows, heads, 1), places)], dim=2).int()
    order = torch.rand(rows, heads, groups).argsort(dim=2).int()
    counts = torch.full((rows, heads), groups, dtype=torch.int32)
    if fewer:
        order[:, -1, groups - fewer :] = 10**6
        counts[:, -1] = groups - fewer
    permutation = torch.rand(rows, heads, places).argsort(dim=2).int()
    return Groups(*(t.to(device) for t in (order, low, high, counts, permutation)))


def check_list(
    groups: Groups,
    budgets: list[list[int]],
    width: int,
    starts: list[int] | None,
    device: torch.device,
) -> None:
    rows, heads, _ = groups.order.shape
    indices, number = sentinel((rows, heads, width), device), sentinel((rows, heads), device)
    fill_budget(
        groups.order,
        groups.node_starts,
        groups.node_ends,
        groups.counts,
        int32(budgets, device),
        indices,
        number,
        permutation=groups.permutation,
        starts=None if starts is None else int32(starts, device),
    )
    for row in range(rows):
        for head in range(heads):
            start = 0 if starts is None else starts[row]
            wanted = fill_budget_reference(
                *groups.of(row, head),
                min(budgets[row][head], width),
                groups.permutation[row, head],
                start,
            )
            count = int(number[row, head])
            assert indices[row, head, :count].tolist() == wanted
            assert (indices[row, head, count:] == SENTINEL).all()


def check_ranges(
    groups: Groups,
    budgets: list[list[int]],
    max_ranges: int,
    starts: list[int] | None,
    device: torch.device,
) -> None:
    rows, heads, number = groups.order.shape
    ranges, rest = (
        sentinel((rows, heads, max_ranges, 2), device),
        sentinel((rows, heads, number, 2), device),
    )
    num_ranges, num_rest = sentinel((rows, heads), device), sentinel((rows, heads), device)
    fill_ranges(
        groups.order,
        groups.node_starts,
        groups.node_ends,
        groups.counts,
        int32(budgets, device),
        ranges,
        num_ranges,
        rest,
        num_rest,
        starts=None if starts is None else int32(starts, device),
    )
    for row in range(rows):
        for head in range(heads):
            start = 0 if starts is None else starts[row]
            taken, left = fill_reference(*groups.of(row, head), budgets[row][head], max_ranges)
            taken = [(first + start, last + start) for first, last in taken]
            for out, count, wanted in ((ranges, num_ranges, taken), (rest, num_rest, left)):
                used = int(count[row, head])
                assert [tuple(span) for span in out[row, head, :used].tolist()] == wanted
                assert (out[row, head, used:] == SENTINEL).all()


@pytest.mark.parametrize("groups", [1, 15, 16, 17, 99])
def test_groups_when_of_any_number_then_equal_reference(device: torch.device, groups: int) -> None:
    case = make_groups(1, 2, groups, 150, device)
    check_list(case, [[40, 149]], 150, None, device)
    check_ranges(case, [[40, 149]], 128, None, device)


def test_groups_when_more_than_a_block_then_equal_reference(device: torch.device) -> None:
    case = make_groups(1, 1, 300, 1025, device)
    check_list(case, [[700]], 700, [5], device)
    check_ranges(case, [[700]], 128, [5], device)  # more groups than ranges
    check_ranges(case, [[700]], 300, [5], device)


def test_rows_and_heads_when_they_differ_then_each_list_has_its_own(device: torch.device) -> None:
    case = make_groups(3, 2, 9, 40, device, fewer=4)
    budgets = [[0, 40], [7, 1], [40, 1000]]
    check_list(case, budgets, 40, [0, 100, 3], device)
    check_ranges(case, budgets, 9, [0, 100, 3], device)


def test_groups_when_by_hand_then_last_is_cut_at_its_earliest_entries(
    device: torch.device,
) -> None:
    # Clusters {1, 4}, {0, 3, 6} and {2, 5}, best first: the third, the second, the first.
    permutation = int32([[[1, 4, 0, 3, 6, 2, 5]]], device)
    order = int32([[[2, 1, 0]]], device)
    low, high = int32([[[0, 2, 5]]], device), int32([[[2, 5, 7]]], device)
    indices, number = sentinel((1, 1, 6), device), sentinel((1, 1), device)
    fill_budget(
        order,
        low,
        high,
        int32([[3]], device),
        int32([[4]], device),
        indices,
        number,
        permutation=permutation,
    )
    assert indices.tolist() == [[[2, 5, 0, 3, SENTINEL, SENTINEL]]]
    assert number.tolist() == [[4]]
    ranges, rest = sentinel((1, 1, 3, 2), device), sentinel((1, 1, 3, 2), device)
    num_ranges, num_rest = sentinel((1, 1), device), sentinel((1, 1), device)
    fill_ranges(
        order,
        low,
        high,
        int32([[3]], device),
        int32([[4]], device),
        ranges,
        num_ranges,
        rest,
        num_rest,
    )
    assert (num_ranges.item(), num_rest.item()) == (2, 2)
    assert ranges[0, 0, :2].tolist() == [[5, 7], [2, 4]]
    assert rest[0, 0, :2].tolist() == [[4, 5], [0, 2]]


def test_order_when_of_a_sort_then_int64_is_taken(device: torch.device) -> None:
    case = make_groups(2, 2, 9, 40, device)
    order = torch.randn(2, 2, 9, device=device).sort(dim=2, stable=True, descending=True).indices
    case = Groups(order, case.node_starts, case.node_ends, case.counts, case.permutation)
    check_list(case, [[10, 20], [3, 5]], 40, None, device)


def test_entries_when_in_tree_order_then_no_permutation_is_needed(device: torch.device) -> None:
    case = make_groups(1, 1, 9, 40, device)
    indices, number = sentinel((1, 1, 40), device), sentinel((1, 1), device)
    fill_budget(
        case.order,
        case.node_starts,
        case.node_ends,
        case.counts,
        int32([[17]], device),
        indices,
        number,
        starts=int32([6], device),
    )
    wanted = fill_budget_reference(*case.of(0, 0), 17, torch.arange(40), 6)
    assert indices[0, 0, :17].tolist() == wanted


def test_budget_when_beyond_the_width_then_cut_to_it(device: torch.device) -> None:
    check_list(make_groups(1, 1, 5, 40, device), [[30]], 8, None, device)


def test_budget_when_negative_or_no_group_then_empty(device: torch.device) -> None:
    case = make_groups(1, 2, 5, 40, device, fewer=5)
    check_list(case, [[-3, 9]], 8, None, device)
    check_ranges(case, [[-3, 9]], 8, None, device)


def test_rows_when_inactive_then_lists_stay(device: torch.device) -> None:
    case = make_groups(2, 1, 5, 40, device)
    groups = (case.order, case.node_starts, case.node_ends, case.counts, int32([[9], [9]], device))
    active = torch.tensor([False, True], device=device)
    indices, number = sentinel((2, 1, 12), device), sentinel((2, 1), device)
    fill_budget(*groups, indices, number, active=active)
    assert (indices[0] == SENTINEL).all()
    assert number.tolist() == [[SENTINEL], [9]]
    ranges, rest = sentinel((2, 1, 5, 2), device), sentinel((2, 1, 5, 2), device)
    num_ranges, num_rest = sentinel((2, 1), device), sentinel((2, 1), device)
    fill_ranges(*groups, ranges, num_ranges, rest, num_rest, active=active)
    for out in (ranges, rest, num_ranges, num_rest):
        assert (out[0] == SENTINEL).all()
    assert num_ranges[1] > 0


def test_views_when_given_then_strides_are_kept(device: torch.device) -> None:
    case = make_groups(2, 3, 7, 40, device)
    turned = Groups(
        *(
            t.transpose(0, 1).contiguous().transpose(0, 1)
            for t in (case.order, case.node_starts, case.node_ends, case.counts, case.permutation)
        )
    )
    check_list(turned, [[10, 20, 30], [3, 5, 7]], 40, [1, 2], device)
    check_ranges(turned, [[10, 20, 30], [3, 5, 7]], 7, [1, 2], device)


def test_arguments_when_they_do_not_fit_then_value_error_names_them(device: torch.device) -> None:
    case = make_groups(1, 1, 5, 40, device)
    indices, number = sentinel((1, 1, 12), device), sentinel((1, 1), device)
    with pytest.raises(ValueError, match="want node_ends of shape"):
        fill_budget(
            case.order,
            case.node_starts,
            case.node_ends[..., :4],
            case.counts,
            case.counts,
            indices,
            number,
        )
