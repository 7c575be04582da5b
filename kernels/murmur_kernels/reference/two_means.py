"""Float64 reference of `murmur_kernels.two_means`, one group and one entry at a time."""

from __future__ import annotations

import torch


def two_means_reference(
    vectors: torch.Tensor,
    first_place: int,
    *,
    max_child: int,
    cosine: bool,
    iterations: int = 8,
    seed: int = 0,
) -> tuple[list[int], list[int]]:
    """Numbers of the entries of each part of one group: vectors (size, head_dim) in its order."""
    x = [_unit(v) if cosine else v for v in vectors.double()]
    size = len(x)
    if size < 2:
        return list(range(size)), []
    first = x[_mix(seed, first_place, size) % size]
    distances = [float(first @ v - (0 if cosine else v @ v / 2)) for v in x]
    second = x[distances.index(min(distances))]
    for iteration in range(iterations):
        sides: tuple[list[int], list[int]] = ([], [])
        for number, v in enumerate(x):
            if cosine:
                nearer = float(v @ second) > float(v @ first)
            else:
                nearer = float((v - second).norm()) < float((v - first).norm())
            sides[nearer].append(number)
        if iteration < iterations - 1:
            first = _mean(x, sides[0], cosine, first)
            second = _mean(x, sides[1], cosine, second)
    if not all(sides) or max(len(side) for side in sides) > max_child:
        return list(range(size // 2)), list(range(size // 2, size))
    return sides


def _mix(seed: int, first_place: int, size: int) -> int:
    bits = (seed + first_place * 2654435761 + size * 2246822519) % 2**32
    bits = (bits ^ (bits >> 15)) * 0x2C1B3C6D % 2**32
    bits = (bits ^ (bits >> 12)) * 0x297A2D39 % 2**32
    return bits ^ (bits >> 15)


def _mean(
    x: list[torch.Tensor], side: list[int], cosine: bool, otherwise: torch.Tensor
) -> torch.Tensor:
    if not side:
        return otherwise
    mean = torch.stack([x[number] for number in side]).mean(dim=0)
    return _unit(mean) if cosine else mean


def _unit(vector: torch.Tensor) -> torch.Tensor:
    length = vector.norm()
    return vector / length if length > 0 else vector
