"""Attention of a step over one arena, with the probes of heads that follow the audio."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.regions import Range
from murmur_kernels import decode_attention


def attend(
    query: torch.Tensor,
    arena: KvArena,
    layer: int,
    slots: Sequence[int],
    ranges: Sequence[tuple[Range, ...]],
    probe_heads: Sequence[int] = (),
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attend of already scaled queries (rows, heads, head_dim) over selected entries.

    Returns the mix of the same shape, and the probe heads' probabilities (rows, heads,
    capacity), zero where nothing was read; None without probe heads.
    """
    mixed, seen = decode_attention(
        query, arena.keys[layer], arena.values[layer], slots, ranges, 1.0, probe_heads
    )
    if not probe_heads:
        return mixed, None
    spread = torch.zeros(len(slots), len(probe_heads), arena.shape.capacity, device=query.device)
    for row, probabilities in enumerate(seen):
        offset = 0
        for start, end in ranges[row]:
            spread[row, :, start:end] = probabilities[:, offset : offset + end - start]
            offset += end - start
    return mixed, spread
