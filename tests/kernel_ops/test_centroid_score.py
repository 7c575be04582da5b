"""`centroid_score` against the float64 reference, and the average over steps by hand."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from murmur_kernels import centroid_score
from murmur_kernels.reference.centroid_score import centroid_score_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

UNIT = 2.0**-24
SENTINEL = -77.0
Metric = Literal["dot", "cosine"]
Reduce = Literal["max", "mean"]


@pytest.fixture(params=KERNEL_PATHS, autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch, "centroid_score")


def int32(values: list[list[int]], device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def check(
    query: torch.Tensor,
    centroids: torch.Tensor,
    counts: list[list[int]],
    metric: Metric,
    reduce: Reduce,
    scale: float = 1.0,
    bias: torch.Tensor | None = None,
) -> None:
    """Against the reference; groups beyond a count are NaN."""
    centroids = centroids.clone()
    for row, heads in enumerate(counts):
        for head, count in enumerate(heads):
            centroids[row, head, count:] = math.nan
    number = int32(counts, query.device)
    got = centroid_score(
        query, centroids, number, metric=metric, reduce=reduce, scale=scale, bias=bias
    )
    query, centroids = query.cpu(), centroids.cpu()
    bias = None if bias is None else bias.cpu()
    wanted = centroid_score_reference(query, centroids, counts, metric, reduce, scale, bias)
    # Each product, sum and root adds half a unit of what it has summed; a cosine sums to 1 at most.
    size: torch.Tensor | float = abs(scale)
    if metric == "dot":
        size = centroid_score_reference(query.abs(), centroids.abs(), counts, "dot", "max", size)
    bound = (2 * query.shape[2] + 16) * UNIT * size
    if bias is not None:
        bound = bound + 2 * UNIT * bias.abs()
    assert torch.equal(got.cpu().isneginf(), wanted.isneginf())
    assert (((got.double().cpu() - wanted).abs() <= bound) | wanted.isneginf()).all()


@pytest.mark.parametrize("reduce", ["max", "mean"])
@pytest.mark.parametrize("metric", ["dot", "cosine"])
@pytest.mark.parametrize("group", [1, 4, 7])
def test_grouped_heads_when_counts_differ_then_equal_reference(
    device: torch.device, group: int, metric: Metric, reduce: Reduce
) -> None:
    query = torch.randn(2, 2 * group, 20, device=device) * 5
    centroids = torch.randn(2, 2, 6, 20, device=device)
    check(query, centroids, [[6, 2], [0, 5]], metric, reduce, 0.3)


@pytest.mark.parametrize("groups", [1, 15, 16, 17, 99])
def test_groups_when_of_any_number_then_equal_reference(device: torch.device, groups: int) -> None:
    query = torch.randn(1, 2, 64, device=device)
    check(query, torch.randn(1, 1, groups, 64, device=device), [[groups]], "cosine", "max")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_tensors_when_of_lower_precision_then_equal_reference(
    device: torch.device, dtype: torch.dtype
) -> None:
    query = torch.randn(1, 2, 80, device=device).to(dtype)
    centroids = torch.randn(1, 2, 5, 80, device=device).to(dtype)
    check(query, centroids, [[5, 5]], "dot", "max")


def test_bias_when_the_size_of_groups_then_added_to_every_head(device: torch.device) -> None:
    query = torch.randn(1, 4, 16, device=device)
    bias = torch.randn(1, 2, 5, device=device)
    check(query, torch.randn(1, 2, 5, 16, device=device), [[5, 4]], "dot", "max", 0.25, bias)


def test_vectors_when_extreme_then_equal_reference(device: torch.device) -> None:
    query = torch.randn(1, 2, 64, device=device) * 1e4
    centroids = torch.randn(1, 2, 9, 64, device=device) * 1e4
    check(query, centroids, [[9, 9]], "cosine", "max")
    check(query, centroids, [[9, 9]], "dot", "mean")


def test_vectors_when_zero_then_cosine_is_zero(device: torch.device) -> None:
    query = torch.zeros(1, 2, 4, device=device)
    query[0, 1, 0] = 2.0
    centroids = torch.zeros(1, 1, 2, 4, device=device)
    centroids[0, 0, 1, 0] = -3.0
    counts = int32([[2]], device)
    got = centroid_score(query, centroids, counts, metric="cosine", reduce="mean")
    assert got.tolist() == [[[0, -0.5]]]


def test_heads_when_one_is_sharp_and_one_flat_then_only_max_ranks_its_group_first(
    device: torch.device,
) -> None:
    # Group 0 lies along the first head's query; the second, opposite to it, is near group 1.
    query = torch.tensor([[[1.0, 0], [-0.6, 0.8]]], device=device)
    centroids = torch.tensor([[[[2.0, 0], [0.8, 1.6]]]], device=device)
    counts = int32([[2]], device)
    by_max = centroid_score(query, centroids, counts, metric="cosine", reduce="max")
    by_mean = centroid_score(query, centroids, counts, metric="cosine", reduce="mean")
    assert by_max[0, 0, 0] > by_max[0, 0, 1]
    assert by_mean[0, 0, 0] < by_mean[0, 0, 1]


def test_average_when_scores_are_one_then_nothing_then_halves_every_step(
    device: torch.device,
) -> None:
    centroids = torch.tensor([[[[1.0, 0]]]], device=device)
    average = torch.full((1, 1, 1), math.nan, device=device)
    seen = []
    for step, direction in enumerate([(2.0, 0.0), (0.0, 1.0), (0.0, 5.0)]):
        score = centroid_score(
            torch.tensor([[direction]], device=device),
            centroids,
            int32([[1]], device),
            metric="cosine",
            reduce="max",
            average=average,
            decay=0.5,
            fresh=torch.tensor([step == 0], device=device),
        )
        seen.append((score.item(), average.item()))
    assert seen == [(1, 1), (0, 0.5), (0, 0.25)]


def test_average_when_a_row_is_fresh_then_others_keep_their_past(device: torch.device) -> None:
    query = torch.randn(3, 2, 8, device=device)
    centroids = torch.randn(3, 2, 4, 8, device=device)
    counts = int32([[4, 3], [4, 4], [4, 4]], device)
    average = torch.full((3, 2, 4), 8.0, device=device)
    out = torch.full((3, 2, 4), SENTINEL, device=device)
    got = centroid_score(
        query,
        centroids,
        counts,
        metric="dot",
        reduce="max",
        average=average,
        decay=0.25,
        fresh=torch.tensor([False, True, True], device=device),
        active=torch.tensor([True, True, False], device=device),
        out=out,
    )
    assert got is out
    torch.testing.assert_close(average[0, 0], 2.0 + 0.75 * out[0, 0])
    assert average[0, 1, 3] == 8.0
    assert out[0, 1, 3] == -math.inf
    assert torch.equal(average[1], out[1])
    assert (average[2] == 8.0).all()
    assert (out[2] == SENTINEL).all()


def test_views_when_given_then_strides_are_kept(device: torch.device) -> None:
    query = torch.randn(2, 16, 4, device=device).mT
    check(query, torch.randn(2, 2, 16, 6, device=device).mT, [[6, 4], [1, 0]], "cosine", "mean")


def test_arguments_when_they_do_not_fit_then_value_error_names_them(device: torch.device) -> None:
    query, centroids = torch.zeros(1, 2, 8, device=device), torch.zeros(1, 1, 3, 8, device=device)
    counts = int32([[3]], device)
    with pytest.raises(ValueError, match=r"want average of shape \(1, 1, 3\)"):
        centroid_score(query, centroids, counts, metric="dot", reduce="max", average=query)
    with pytest.raises(ValueError, match="metric one of dot, cosine; got 'l2'"):
        centroid_score(query, centroids, counts, metric="l2", reduce="max")  # type: ignore[arg-type]
