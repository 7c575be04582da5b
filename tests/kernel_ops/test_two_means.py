"""`two_means` against the float64 reference: the same parts, entry for entry."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from murmur_kernels import two_means
from murmur_kernels.reference.two_means import two_means_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

Metric = Literal["cosine", "euclidean"]
METRICS: tuple[Metric, ...] = ("cosine", "euclidean")


@pytest.fixture(params=KERNEL_PATHS, autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch, "two_means")


def int32(values: object, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def check(
    keys: torch.Tensor,
    slots: list[int],
    starts: list[int],
    permutation: torch.Tensor,
    nodes: list[list[list[tuple[int, int]]]],
    metric: Metric,
    *,
    max_child: int = 10**6,
    seed: int = 0,
    iterations: int = 3,
) -> torch.Tensor:
    """Against the reference for every group; places outside groups stay. Returns the sizes."""
    device = keys.device
    node_starts = int32(
        [[[span[0] for span in spans] for spans in heads] for heads in nodes], device
    )
    node_ends = int32([[[span[1] for span in spans] for spans in heads] for heads in nodes], device)
    before = permutation.clone()
    got, sizes = two_means(
        keys,
        int32(slots, device),
        int32(starts, device),
        permutation,
        node_starts,
        node_ends,
        max_child=max_child,
        metric=metric,
        seed=seed,
        iterations=iterations,
    )
    assert torch.equal(permutation, before)
    wanted = permutation.cpu().clone()
    for row, heads in enumerate(nodes):
        for head, spans in enumerate(heads):
            for node, (start, end) in enumerate(spans):
                entries = permutation[row, head, start:end].cpu().long()
                vectors = keys[slots[row], head].cpu()[starts[row] + entries]
                parts = two_means_reference(
                    vectors,
                    start,
                    max_child=max_child,
                    cosine=metric == "cosine",
                    iterations=iterations,
                    seed=seed,
                )
                wanted[row, head, start:end] = entries[parts[0] + parts[1]].int()
                assert int(sizes[row, head, node]) == len(parts[0])
    assert torch.equal(got.cpu(), wanted)
    return sizes


def identity(rows: int, heads: int, places: int, device: torch.device) -> torch.Tensor:
    return torch.arange(places, dtype=torch.int32, device=device).repeat(rows, heads, 1)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 99])
def test_group_when_of_any_size_then_same_parts_as_reference(
    device: torch.device, size: int, metric: Metric
) -> None:
    keys = torch.randn(2, 1, size + 3, 8, device=device)
    check(keys, [1], [2], identity(1, 1, size, device), [[[(0, size)]]], metric, iterations=8)


@pytest.mark.parametrize("metric", METRICS)
def test_group_when_large_then_same_parts_as_reference(
    device: torch.device, metric: Metric
) -> None:
    keys = torch.randn(1, 1, 1025, 8, device=device)
    check(keys, [0], [0], identity(1, 1, 1025, device), [[[(0, 1025)]]], metric, iterations=2)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_rows_and_heads_when_groups_differ_then_each_is_split_alone(
    device: torch.device, dtype: torch.dtype, metric: Metric
) -> None:
    keys = torch.randn(3, 2, 40, 20, device=device)
    keys[0] = math.nan  # no row's slot
    permutation = torch.rand(2, 2, 30, device=device).argsort(dim=2).int()
    nodes = [[[(0, 10), (10, 11), (12, 30)], [(5, 5), (0, 5), (5, 30)]]] * 2
    check(keys.to(dtype), [2, 1], [7, 0], permutation, nodes, metric)


def test_blobs_when_two_then_parted_in_order(device: torch.device) -> None:
    keys = torch.tensor([[0.0, 1], [3, 0], [0.1, 1], [0, 2], [4, 0.1]], device=device)[None, None]
    arguments = (keys, int32([0], device), int32([0], device), identity(1, 1, 5, device))
    for metric in METRICS:
        got, sizes = two_means(
            *arguments,
            int32([[[0]]], device),
            int32([[[5]]], device),
            max_child=5,
            metric=metric,
        )
        size = sizes.item()
        assert isinstance(size, int)
        parts = {tuple(got[0, 0, :size].tolist()), tuple(got[0, 0, size:].tolist())}
        assert parts == {(0, 2, 3), (1, 4)}


@pytest.mark.parametrize("metric", METRICS)
def test_keys_when_all_alike_then_split_into_halves(device: torch.device, metric: Metric) -> None:
    for value in (0.0, 1.0):
        keys = torch.full((1, 1, 7, 4), value, device=device)
        sizes = check(keys, [0], [0], identity(1, 1, 7, device), [[[(0, 7)]]], metric)
        assert sizes.item() == 3


def test_part_when_larger_than_allowed_then_split_into_halves(device: torch.device) -> None:
    keys = torch.randn(1, 1, 12, 4, device=device) * 0.1 + 1
    keys[0, 0, 5] = -1.0
    span = [[[(0, 12)]]]
    alone = check(keys, [0], [0], identity(1, 1, 12, device), span, "cosine")
    assert alone.item() in (1, 11)
    halves = check(keys, [0], [0], identity(1, 1, 12, device), span, "cosine", max_child=6)
    assert halves.item() == 6


def test_seed_when_another_then_still_equals_reference(device: torch.device) -> None:
    keys = torch.randn(1, 1, 60, 4, device=device)
    for seed in (0, 1, 2**31):
        check(
            keys, [0], [0], identity(1, 1, 60, device), [[[(0, 30), (30, 60)]]], "cosine", seed=seed
        )


def test_run_when_repeated_or_in_other_company_then_same(device: torch.device) -> None:
    keys = torch.randn(3, 1, 20, 8, device=device)
    low, high = int32([[[0]]] * 2, device), int32([[[20]]] * 2, device)
    slots = int32([2, 0], device)
    starts = int32([0, 0], device)
    permutation = identity(2, 1, 20, device)
    together = two_means(keys, slots, starts, permutation, low, high, max_child=20, iterations=3)
    again = two_means(keys, slots, starts, permutation, low, high, max_child=20, iterations=3)
    for row in range(2):
        one = slice(row, row + 1)
        alone = two_means(
            keys,
            slots[one],
            starts[one],
            permutation[one],
            low[one],
            high[one],
            max_child=20,
            iterations=3,
        )
        for a, b, c in zip(together, again, alone, strict=True):
            assert torch.equal(a, b)
            assert torch.equal(a[one], c)


def test_keys_when_a_view_then_strides_are_kept(device: torch.device) -> None:
    keys = torch.randn(2, 30, 2, 12, device=device).transpose(1, 2)[..., :8]
    check(keys, [1], [3], identity(1, 2, 20, device), [[[(0, 20)], [(0, 9)]]], "cosine")


def test_arguments_when_they_do_not_fit_then_value_error_names_them(device: torch.device) -> None:
    keys, one = torch.zeros(1, 1, 5, 4, device=device), int32([0], device)
    node = int32([[[0]]], device)
    with pytest.raises(ValueError, match="iterations of at least 1, got 0"):
        two_means(keys, one, one, identity(1, 1, 5, device), node, node, max_child=3, iterations=0)
