"""Float64 reference of `murmur_kernels.score_accumulate`, one probability at a time."""

from __future__ import annotations

import math

import torch


def score_accumulate_reference(
    query: torch.Tensor,
    keys: torch.Tensor,
    slots: list[int],
    lse: torch.Tensor,
    scores: torch.Tensor,
    entries: list[list[list[int]]],
    scale: float,
    decay: float,
    reduce: str,
    limits: list[list[int]] | None = None,
) -> torch.Tensor:
    """The scores after the call, float64; entries[row][head] are the places in the slot."""
    out = scores.double().clone()
    rows, queries, heads, _ = query.shape
    group = heads // keys.shape[1]
    for row in range(rows):
        for kv_head, listed in enumerate(entries[row]):
            for j, entry in enumerate(listed):
                k = keys[slots[row], kv_head, entry].double()
                for t in range(queries):
                    seen = [
                        math.exp(
                            scale * float(query[row, t, i].double() @ k) - float(lse[row, t, i])
                        )
                        for i in range(kv_head * group, (kv_head + 1) * group)
                    ]
                    received = {"sum": sum(seen), "mean": sum(seen) / group, "max": max(seen)}[
                        reduce
                    ]
                    if limits is not None and entry >= limits[row][t]:
                        received = 0.0
                    out[row, kv_head, j] = decay * out[row, kv_head, j] + received
    return out
