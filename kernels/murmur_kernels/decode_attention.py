"""Attention of one query token per row over ranges of an arena slot.

    out[r, i] = sum_j p_j v_j,   p = softmax_j(scale * q[r, i] . k_j),   j in ranges[r]

with k_j, v_j entries of slot slots[r] and KV head i // (query_heads / kv_heads).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch

from murmur_kernels.checks import ARENA_DTYPES, check_arena, check_probe_heads
from murmur_kernels.compiled import LANES
from murmur_kernels.ranges import StepRanges
from murmur_kernels.views import views_attention

if TYPE_CHECKING:
    from murmur_kernels.compiled.machine_code import MachineCode

Path = Literal["compiled", "torch"]


def decode_attention(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    step: StepRanges,
    scale: float,
    probe_heads: Sequence[int] = (),
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Attend over the selected entries only; no other entry is read. Has no gradient.

    Which implementation runs is told by `decode_attention_path`. A row's result depends on
    that row alone.

    Args:
        query: (rows, query_heads, head_dim), float32 or the arena's dtype.
        keys, values: (slots, kv_heads, capacity, head_dim), one layer of the arena: float32,
            float16 or bfloat16, any strides with a contiguous last axis.
        step: slot and ranges of each row, checked against this arena's sizes.
        scale: factor on the dot products.
        probe_heads: query heads whose probabilities are wanted.

    Returns:
        out of the query's shape and dtype, and the probabilities of the probe heads, float32
        (rows, probe heads, capacity), zero where nothing was read; None without probe heads.

    Raises:
        ValueError: shapes, dtypes, strides, ranges or probe heads that do not fit.
    """
    check_arena(query, keys, values)
    step.check_fits(query.shape[0], keys.shape[0], keys.shape[2])
    check_probe_heads(probe_heads, query.shape[1])
    grouped = query.shape[1] > keys.shape[1]
    code = _machine_code(query.device, keys.dtype, keys.shape[3], grouped)
    if code is None:
        return views_attention(query, keys, values, step, scale, probe_heads)
    from murmur_kernels.compiled.attention import compiled_attention

    return compiled_attention(code, query, keys, values, step, scale, probe_heads)


def decode_attention_path(device: torch.device, dtype: torch.dtype, head_dim: int) -> Path:
    """How an arena on `device`, of `dtype` and `head_dim`, is attended over.

    'compiled' is machine code made for this processor, 'torch' are torch's own operations.
    """
    return "torch" if _machine_code(device, dtype, head_dim, grouped=False) is None else "compiled"


def _machine_code(
    device: torch.device, dtype: torch.dtype, head_dim: int, grouped: bool
) -> MachineCode | None:
    if device.type != "cpu" or dtype not in ARENA_DTYPES or head_dim % LANES:
        return None
    try:
        from murmur_kernels.compiled.machine_code import machine_code
    except ImportError:  # no llvmlite for this platform
        return None
    return machine_code(head_dim, dtype, grouped)
