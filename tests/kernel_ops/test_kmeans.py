"""`kmeans` against the float64 reference: the same clusters, entry for entry."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from murmur_kernels import kmeans
from murmur_kernels.reference.kmeans import kmeans_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

Metric = Literal["cosine", "euclidean"]
UNIT = 2.0**-24


# One implementation, torch's, on either device: there is nothing to interpret.
@pytest.fixture(params=[path for path in KERNEL_PATHS if path.id != "interpreted"], autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch)


def int32(values: list[int], device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def check(
    device: torch.device,
    lengths: list[int],
    counts: list[int],
    *,
    metric: Metric = "cosine",
    dtype: torch.dtype = torch.float32,
    iterations: int = 8,
) -> None:
    """Against the reference; entries outside the regions are NaN."""
    rows, places = len(lengths), max(lengths)
    slots, starts = [(row + 1) % 4 for row in range(rows)], [2 * row for row in range(rows)]
    keys = torch.full((4, 2, places + 2 * rows, 12), math.nan)
    for row, length in enumerate(lengths):
        keys[slots[row], :, starts[row] : starts[row] + length] = torch.randn(2, length, 12) + 0.5
    keys = keys.to(dtype).to(device)
    got = kmeans(
        keys,
        int32(slots, device),
        int32(starts, device),
        int32(lengths, device),
        int32(counts, device),
        places=places,
        clusters=max(counts),
        metric=metric,
        iterations=iterations,
    )
    for row, length in enumerate(lengths):
        for head in range(2):
            vectors = keys[slots[row], head, starts[row] : starts[row] + length].cpu()
            wanted = kmeans_reference(
                vectors, counts[row], cosine=metric == "cosine", iterations=iterations
            )
            wanted += [[]] * (max(counts) - counts[row])
            for cluster, members in enumerate(wanted):
                start, end = got.starts[row, head, cluster], got.ends[row, head, cluster]
                assert got.permutation[row, head, start:end].tolist() == members
                centroid = got.centroids[row, head, cluster].double().cpu()
                if not members:
                    assert (centroid == 0).all()
                    continue
                mean = vectors[members].double().mean(dim=0)
                bound = (len(members) + 4) * UNIT * vectors[members].double().abs().amax(dim=0)
                assert ((centroid - mean).abs() <= bound).all()


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("length", [1, 15, 16, 17, 99])
def test_region_when_of_any_length_then_same_clusters_as_reference(
    device: torch.device, length: int, metric: Metric
) -> None:
    check(device, [length], [-(-length // 8)], metric=metric)


def test_region_when_long_then_same_clusters_as_reference(device: torch.device) -> None:
    check(device, [1025], [12], iterations=3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_rows_when_lengths_and_counts_differ_then_each_has_its_own(
    device: torch.device, dtype: torch.dtype
) -> None:
    check(device, [40, 9, 0, 40], [5, 9, 1, 2], dtype=dtype)


def test_clusters_when_as_many_as_entries_then_one_each(device: torch.device) -> None:
    check(device, [17], [17])


def test_keys_when_all_alike_then_first_cluster_has_all(device: torch.device) -> None:
    one = int32([0], device)
    keys = torch.ones(1, 1, 9, 4, device=device)
    got = kmeans(keys, one, one, int32([9], device), int32([3], device), places=9, clusters=3)
    assert (got.ends - got.starts).tolist() == [[[9, 0, 0]]]
    assert got.permutation.tolist() == [[list(range(9))]]
    assert got.centroids[0, 0, :, 0].tolist() == [1, 0, 0]


def test_blobs_when_two_then_one_cluster_each(device: torch.device) -> None:
    one = int32([0], device)
    keys = torch.tensor([[0.0, 1], [3, 0], [0.1, 1], [4, 0.1]], device=device)[None, None]
    got = kmeans(keys, one, one, int32([4], device), int32([2], device), places=4, clusters=2)
    assert got.permutation.tolist() in ([[[0, 2, 1, 3]]], [[[1, 3, 0, 2]]])
    assert got.ends.tolist() == [[[2, 4]]]


def test_numbers_when_too_small_then_value_error_names_them(device: torch.device) -> None:
    one = int32([1], device)
    keys = torch.ones(2, 1, 9, 4, device=device)
    with pytest.raises(ValueError, match="clusters of at least 1, got 0"):
        kmeans(keys, one, one, one, one, places=9, clusters=0)
