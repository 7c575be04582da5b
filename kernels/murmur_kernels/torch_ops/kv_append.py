"""`kv_append` by one indexed write per tensor."""

from __future__ import annotations

import torch


def kv_append_torch(
    new_keys: torch.Tensor,
    new_values: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: torch.Tensor,
    positions: torch.Tensor,
    active: torch.Tensor | None,
) -> None:
    """`kv_append` on checked arguments."""
    if active is not None:
        new_keys, new_values = new_keys[active], new_values[active]
        slots, positions = slots[active], positions[active]
    if slots.numel() == 0:
        return
    for name, places, size in (
        ("slot", slots, keys.shape[0]),
        ("position", positions, keys.shape[2]),
    ):
        low, high = (int(edge) for edge in torch.aminmax(places))
        if low < 0 or high >= size:
            outside = low if low < 0 else high
            raise ValueError(f"{name} {outside} is outside the arena's 0 to {size - 1}")
    where = (slots.long(), slice(None), positions.long())
    keys[where] = new_keys.to(keys.dtype)
    values[where] = new_values.to(values.dtype)
