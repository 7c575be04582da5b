"""Attention of a step over one arena, with the probes of heads that follow the audio."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.regions import Range
from murmur_kernels import (
    MAX_RANGES,
    Selection,
    StepRanges,
    decode_attention,
    decode_attention_path,
    step_ranges,
)

__all__ = [
    "MAX_RANGES",
    "Selection",
    "StepRanges",
    "attend",
    "attention_path",
    "select",
    "step_ranges",
]


def attention_path(device: torch.device, dtype: torch.dtype, head_dim: int) -> str:
    """How an arena is attended over: 'triton', 'compiled' (our own machine code) or 'torch'."""
    return decode_attention_path(device, dtype, head_dim)


def select(arena: KvArena, slots: Sequence[int], ranges: Sequence[tuple[Range, ...]]) -> StepRanges:
    """What each row of a step reads of an arena; made once a step, used by all layers."""
    return step_ranges(slots, ranges, num_slots=arena.shape.slots, capacity=arena.shape.capacity)


def attend(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    step: StepRanges | Selection,
    scale: float = 1.0,
    probe_heads: Sequence[int] = (),
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attend of queries (rows, heads, head_dim) over selected entries of one layer's arena.

    Returns the mix of the same shape, and the probe heads' probabilities (rows, heads,
    capacity), zero where nothing was read; None without probe heads.
    """
    return decode_attention(query, keys, values, step, scale, probe_heads)[:2]
