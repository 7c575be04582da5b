"""Flat k-means of a region's keys per (row, KV head): clusters as ranges of a permutation.

    x_j = k_j / ||k_j||  ('cosine')   or   k_j  ('euclidean')
    first centroids: the entries at places floor((c + 1/2) * lengths[r] / counts[r])
    `iterations` times: assign each entry to the nearest centroid, to the first of equals; between
    two assignments a centroid becomes the mean of its entries ('cosine': scaled to length one),
    and one without entries stays

ClusterKV assigns by cosine, at most 20 times, from a random start that is not seeded; this start
is spread over time, needs no seed and is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_kernels.tensor_checks import (
    INT32,
    check_arena_layer,
    check_at_least,
    check_choice,
    check_tensor,
)
from murmur_kernels.torch_ops.entries import gather_entries
from murmur_kernels.two_means import KeyMetric


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters of all rows and KV heads.

    Attributes:
        permutation: (rows, kv_heads, places) int32: the region's entries cluster by cluster,
            ascending within a cluster; beyond a row's length, what is left over.
        starts, ends: (rows, kv_heads, clusters) int32, half-open places; one may be empty.
        centroids: (rows, kv_heads, clusters, head_dim) float32, plain means of the keys; zeros
            where a cluster is empty.
    """

    permutation: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor
    centroids: torch.Tensor


def kmeans(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    counts: torch.Tensor,
    *,
    places: int,
    clusters: int,
    metric: KeyMetric = "cosine",
    iterations: int = 8,
) -> Clusters:
    """The clusters of the regions. For a prefill, on any device; two runs give the same.

    Args:
        keys: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots, starts, lengths: (rows,) int32, where each row's region lies.
        counts: (rows,) int32, clusters wanted, 1 to `clusters`.
        places, clusters: at least the longest length and the largest count; size the result.
        metric: what is near.
        iterations: assignments, at least 1.

    Raises:
        ValueError: shapes, dtypes, devices or numbers that do not fit.
    """
    check_arena_layer("keys", keys)
    device = keys.device
    check_tensor("slots", slots, (None,), INT32, device)
    rows, heads = slots.shape[0], keys.shape[1]
    for name, tensor in (("starts", starts), ("lengths", lengths), ("counts", counts)):
        check_tensor(name, tensor, (rows,), INT32, device)
    check_at_least("places", places, 1)
    check_at_least("clusters", clusters, 1)
    check_at_least("iterations", iterations, 1)
    check_choice("metric", metric, ("cosine", "euclidean"))
    place = torch.arange(places, device=device)
    used = (place < lengths[:, None])[:, None, :, None]
    entry = (starts[:, None] + place)[:, None].expand(-1, heads, -1)
    k = gather_entries(keys, slots, entry).float().masked_fill(~used, 0.0)
    x = _unit(k) if metric == "cosine" else k
    number = torch.arange(clusters, device=device)
    wanted = (number < counts[:, None])[:, None, None]
    first = (2 * number + 1) * lengths[:, None] // (2 * counts[:, None].clamp(min=1))
    first = first.clamp(max=places - 1)[:, None, :, None].expand(-1, heads, -1, x.shape[3])
    centroids = x.gather(2, first)
    for iteration in range(iterations):
        nearness = x @ centroids.mT
        if metric == "euclidean":
            nearness = nearness - centroids.square().sum(dim=3).unsqueeze(2) / 2
        label = nearness.masked_fill(~wanted, -torch.inf).argmax(dim=3)
        # Entries by cluster as a product of matrices: no order of additions is left open.
        member = (label.unsqueeze(3) == number) & used
        sizes = member.sum(dim=2)
        if iteration == iterations - 1:
            break
        sums = member.mT.float() @ x
        means = _unit(sums) if metric == "cosine" else sums / sizes.clamp(min=1).unsqueeze(3)
        centroids = torch.where(sizes.unsqueeze(3) > 0, means, centroids)
    ends = sizes.cumsum(dim=2)
    by_cluster = label.where(used.squeeze(3), clusters).argsort(dim=2, stable=True)
    return Clusters(
        permutation=by_cluster.to(torch.int32),
        starts=(ends - sizes).to(torch.int32),
        ends=ends.to(torch.int32),
        centroids=member.mT.float() @ k / sizes.clamp(min=1).unsqueeze(3),
    )


def _unit(vectors: torch.Tensor) -> torch.Tensor:
    """Vectors of length one; a zero vector stays one."""
    lengths: torch.Tensor = torch.linalg.vector_norm(vectors, dim=3, keepdim=True)
    return vectors / lengths.masked_fill(lengths == 0, 1.0)
