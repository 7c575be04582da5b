"""Prefix sums of keys and values in a given order: any range's mean from two of them.

    center[r, h]    = mean_p x_p
    sums[r, h, p]   = sum_{i < p} (x_i - center)
    mean of [a, b)  = center + (sums[b] - sums[a]) / (b - a)

Both sums that are subtracted are rounded to float32, so the mean is off by at most
u (|sums[a]| + |sums[b]|) / (b - a), u = 2^-24, and the few roundings of the last line. What makes
sums large is a part that all entries share, and keys have channels of one sign and hundreds of
units: so the mean is taken out first, and the rest grows like a random walk, which by its end is
back at 0. 2,250 keys with channels of 400 +- 20 have sums near 1,000, not 900,000: a single
entry's mean is then right to 1e-4, where 0.1 would be lost, and that of 16 to 1e-5, besides the
rounding of the mean itself. The sums are added up in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_kernels.tensor_checks import INT32, check_arena_layer, check_tensor
from murmur_kernels.torch_ops.entries import gather_entries


@dataclass(frozen=True, slots=True)
class PrefixSums:
    """Of one of keys and values.

    Attributes:
        sums: (rows, kv_heads, places + 1, head_dim) float32; from a row's length on, the last.
        center: (rows, kv_heads, head_dim) float32.
    """

    sums: torch.Tensor
    center: torch.Tensor


def prefix_sums(
    cache: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    permutation: torch.Tensor,
) -> PrefixSums:
    """Sums over a region in the order of `permutation`. For a prefill, on any device.

    Args:
        cache: (slots, kv_heads, capacity, head_dim), keys or values of one layer.
        slots, starts, lengths: (rows,) int32, where each row's region lies.
        permutation: (rows, kv_heads, places) int32, such as a tree's; place p is entry
            starts[r] + permutation[r, h, p].

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    check_arena_layer("cache", cache)
    device = cache.device
    check_tensor("permutation", permutation, (None, cache.shape[1], None), INT32, device)
    rows, _, places = permutation.shape
    for name, tensor in (("slots", slots), ("starts", starts), ("lengths", lengths)):
        check_tensor(name, tensor, (rows,), INT32, device)
    entries = gather_entries(cache, slots, starts[:, None, None] + permutation).double()
    used = torch.arange(places, device=device) < lengths[:, None]
    unused = ~used[:, None, :, None]
    counts = lengths.clamp(min=1)[:, None, None]
    center = (entries.masked_fill(unused, 0.0).sum(dim=2) / counts).float()
    away = (entries - center.unsqueeze(2)).masked_fill(unused, 0.0)
    sums = torch.zeros(*away.shape[:2], places + 1, away.shape[3], device=device)
    sums[:, :, 1:] = away.cumsum(dim=2)
    return PrefixSums(sums, center)
