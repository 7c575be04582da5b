"""Float64 reference of `murmur_kernels.kmeans`: one region, one entry at a time."""

from __future__ import annotations

import torch


def kmeans_reference(
    vectors: torch.Tensor, clusters: int, *, cosine: bool, iterations: int
) -> list[list[int]]:
    """Entries of each cluster of vectors (length, head_dim)."""
    x = [_unit(v) if cosine else v for v in vectors.double()]
    size = len(x)
    if size == 0:
        return [[] for _ in range(clusters)]
    centroids = [x[(2 * c + 1) * size // (2 * clusters)] for c in range(clusters)]
    for iteration in range(iterations):
        members: list[list[int]] = [[] for _ in range(clusters)]
        for number, v in enumerate(x):
            if cosine:
                distances = [-float(v @ c) for c in centroids]
            else:
                distances = [float((v - c).norm()) for c in centroids]
            members[distances.index(min(distances))].append(number)
        if iteration < iterations - 1:
            for c, numbers in enumerate(members):
                if numbers:
                    mean = torch.stack([x[number] for number in numbers]).mean(dim=0)
                    centroids[c] = _unit(mean) if cosine else mean
    return members


def _unit(vector: torch.Tensor) -> torch.Tensor:
    length = vector.norm()
    return vector / length if length > 0 else vector
