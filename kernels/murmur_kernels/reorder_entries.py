"""Rewrites a region of the arena in a given order, so that what belongs together lies together.

    cache[slots[r], h, starts[r] + p] = cache[slots[r], h, starts[r] + permutation[r, h, p]],
    p < lengths[r]

Once per region, after its tree is built: from then on place and entry are the same.
"""

from __future__ import annotations

import torch

from murmur_kernels.tensor_checks import INT32, check_arena_layer, check_tensor
from murmur_kernels.torch_ops.entries import gather_entries


def reorder_entries(
    cache: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    permutation: torch.Tensor,
) -> None:
    """Reorder keys or values in place; other entries are not touched. For a prefill, any device.

    Args:
        cache: (slots, kv_heads, capacity, head_dim), keys or values of one layer.
        slots, starts, lengths: (rows,) int32, where each row's region lies.
        permutation: (rows, kv_heads, places) int32, of the numbers below lengths[r], in each of
            its first lengths[r] places.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    check_arena_layer("cache", cache)
    device = cache.device
    check_tensor("permutation", permutation, (None, cache.shape[1], None), INT32, device)
    rows, heads, places = permutation.shape
    for name, tensor in (("slots", slots), ("starts", starts), ("lengths", lengths)):
        check_tensor(name, tensor, (rows,), INT32, device)
    entries = gather_entries(cache, slots, starts[:, None, None] + permutation)
    used = (torch.arange(places, device=device) < lengths[:, None])[:, None].expand(-1, heads, -1)
    row, head, place = used.nonzero(as_tuple=True)
    cache[slots[row].long(), head, starts[row] + place] = entries[row, head, place]
