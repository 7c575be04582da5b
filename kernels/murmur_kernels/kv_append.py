"""Writes new keys and values at their places in the arena.

    keys[slots[t], h, positions[t]] = new_keys[t, h]      (values alike), for active[t]

One token a row in a decode step; all tokens of a ragged prefill in one call, each with its slot
and position.
"""

from __future__ import annotations

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import (
    FLOATS,
    INT32,
    check_active,
    check_arena_layer,
    check_tensor,
)


def kv_append(
    new_keys: torch.Tensor,
    new_values: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: torch.Tensor,
    positions: torch.Tensor,
    active: torch.Tensor | None = None,
) -> None:
    """Write one entry per token; rounded to the arena's dtype. Nothing else is touched.

    No two active tokens may share slot and position. A place outside the arena is a ValueError
    on the CPU; on a GPU, where a check would wait for the device, it is not written.

    Args:
        new_keys, new_values: (tokens, kv_heads, head_dim), any float dtype and strides.
        keys, values: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots, positions: (tokens,) int32, where each token is stored.
        active: (tokens,) bool; what is not active is not written. None: all are.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    check_arena_layer("keys", keys)
    check_tensor("values", values, keys.shape, (keys.dtype,), keys.device)
    check_arena_layer("values", values)
    tokens = new_keys.shape[0]
    shape = (tokens, keys.shape[1], keys.shape[3])
    check_tensor("new_keys", new_keys, shape, FLOATS, keys.device)
    check_tensor("new_values", new_values, shape, (new_keys.dtype,), keys.device)
    check_tensor("slots", slots, (tokens,), INT32, keys.device)
    check_tensor("positions", positions, (tokens,), INT32, keys.device)
    check_active(active, tokens, keys.device)
    if implementation(keys.device) == "triton":
        from murmur_kernels.triton_kernels.kv_append import kv_append_triton as run
    else:
        from murmur_kernels.torch_ops.kv_append import kv_append_torch as run
    run(new_keys, new_values, keys, values, slots, positions, active)
