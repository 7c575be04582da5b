"""Means of groups of entries that follow each other and share out a region.

    means[r, h, g] = mean of entries starts[r] + j, ends[r, h, g - 1] <= j < ends[r, h, g]

with ends[r, h, -1] = 0; zeros for a group without entries. In float32, the entries of a group in
their order. Where groups change, `range_summaries` finds means from sums that are kept.
"""

from __future__ import annotations

import torch

from murmur_kernels.tensor_checks import INT32, check_arena_layer, check_tensor
from murmur_kernels.torch_ops.entries import gather_entries


def group_means(
    cache: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    ends: torch.Tensor,
    *,
    places: int,
) -> torch.Tensor:
    """The means, (rows, kv_heads, groups, head_dim) float32. For a prefill, on any device.

    Args:
        cache: (slots, kv_heads, capacity, head_dim), keys or values of one layer.
        slots, starts, lengths: (rows,) int32, where each row's region lies.
        ends: (rows, kv_heads, groups) int32, rising or equal, the last of them the row's length.
        places: at least the longest length.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    check_arena_layer("cache", cache)
    device, heads = cache.device, cache.shape[1]
    check_tensor("ends", ends, (None, heads, None), INT32, device)
    rows, _, groups = ends.shape
    for name, tensor in (("slots", slots), ("starts", starts), ("lengths", lengths)):
        check_tensor(name, tensor, (rows,), INT32, device)
    place = torch.arange(places, device=device)
    at = (starts[:, None] + place)[:, None].expand(-1, heads, -1)
    used = (place < lengths[:, None])[:, None, :, None]
    # What is not used may be anything, and makes a group of its own behind the others.
    entries = gather_entries(cache, slots, at).float().masked_fill(~used, 0.0)
    edges = torch.nn.functional.pad(ends, (1, 0))
    edges = torch.nn.functional.pad(edges, (0, 1), value=places)
    found: torch.Tensor = torch.segment_reduce(
        entries.flatten(0, 2), "mean", lengths=edges.diff().flatten().long(), initial=0.0
    )
    return found.view(rows, heads, groups + 1, -1)[:, :, :groups]
