"""Entries of an arena layer, by index or as the region of each row; only these are read."""

from __future__ import annotations

import torch


def gather_entries(cache: torch.Tensor, slots: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Entries indices[r, h, j] of slot slots[r] and head h: (rows, kv_heads, count, head_dim).

    An index outside the slot is taken for the nearest one inside; what it gives is not used.
    """
    heads, capacity, dim = cache.shape[1:]
    slots = slots.long().clamp(0, cache.shape[0] - 1)
    inside = indices.long().clamp(0, capacity - 1)
    head = torch.arange(heads, device=cache.device)[:, None]
    if not cache.is_contiguous():
        return cache[slots[:, None, None], head, inside]
    # index_select copies whole rows, which indexing with three tensors does not.
    flat = (slots[:, None, None] * heads + head) * capacity + inside
    return cache.view(-1, dim).index_select(0, flat.flatten()).view(*indices.shape, dim)


def region_entries(
    cache: torch.Tensor, slots: torch.Tensor, starts: torch.Tensor, length: int
) -> torch.Tensor:
    """`length` entries of each row from starts[r] on: (rows, kv_heads, length, head_dim).

    A view where all rows start alike in consecutive slots, else a copy. What lies beyond a
    row's own region or beyond its slot may be anything.
    """
    first_slot, first_start = int(slots[0]), int(starts[0])
    rows = slots.shape[0]
    alike = bool((starts == first_start).all()) and torch.equal(
        slots, torch.arange(first_slot, first_slot + rows, dtype=slots.dtype)
    )
    inside = 0 <= first_start <= cache.shape[2] - length
    if alike and inside and 0 <= first_slot <= cache.shape[0] - rows:
        return cache[first_slot : first_slot + rows, :, first_start : first_start + length]
    steps = torch.arange(length)
    indices = (starts[:, None] + steps)[:, None].expand(-1, cache.shape[1], -1)
    return gather_entries(cache, slots, indices)
