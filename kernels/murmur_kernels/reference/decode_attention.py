"""Float64 reference of `murmur_kernels.decode_attention`, one dot product at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def decode_attention_reference(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: Sequence[int],
    ranges: Sequence[tuple[tuple[int, int], ...]],
    scale: float,
) -> torch.Tensor:
    """Same arguments and result as the op, computed in float64 from the given (rounded) inputs."""
    rows, heads, _ = query.shape
    group = heads // keys.shape[1]
    out = torch.zeros_like(query, dtype=torch.float64)
    for row in range(rows):
        entries = [j for start, end in ranges[row] for j in range(start, end)]
        for head in range(heads):
            k = keys[slots[row], head // group, entries].double()
            v = values[slots[row], head // group, entries].double()
            weights = torch.softmax(k @ query[row, head].double() * scale, dim=0)
            out[row, head] = weights @ v
    return out
