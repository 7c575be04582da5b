"""How the entries of groups that follow each other lie around the means of their groups.

    deviations[r, h, g] = sqrt(mean over entries j of g and elements i of (k_j[i] - k_g[i])^2)
    tilts[r, h, i, c]   = mean over all entries j of (k_j[i] - k_g(j)[i]) (v_j[c] - v_g(j)[c])

with k_g, v_g the means of group g and g(j) the group of entry j: what `SecondOrder` holds. From
the differences themselves, in float32, as means of squares less squares of means would lose what
is left of large keys. One matrix of tilts stands for all groups of a head: one for each group
would cost as much as reading the entries.

`tree_spread` says the same of all nodes of a tree, as sums.
"""

from __future__ import annotations

import torch

from murmur_kernels.tensor_checks import INT32, check_arena_layer, check_tensor
from murmur_kernels.torch_ops.entries import gather_entries
from murmur_kernels.tree_order import Tree

STEP = 1e-7
"""Of the mean square of an entry, what every entry of a node adds to its sum: more than the sums
are rounded by, so that a child is always below its parent."""


def group_spread(
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    ends: torch.Tensor,
    mean_keys: torch.Tensor,
    mean_values: torch.Tensor,
    *,
    places: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Deviations (rows, kv_heads, groups), and tilts (rows, kv_heads, head_dim, head_dim).

    Float32; zeros without entries. For a prefill, on any device.

    Args:
        keys, values: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots, starts, lengths: (rows,) int32, where each row's region lies.
        ends: (rows, kv_heads, groups) int32, rising or equal, the last of them the row's length.
        mean_keys, mean_values: (rows, kv_heads, groups, head_dim), as they are read.
        places: at least the longest length.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    check_arena_layer("keys", keys)
    check_arena_layer("values", values)
    device, heads = keys.device, keys.shape[1]
    check_tensor("ends", ends, (None, heads, None), INT32, device)
    rows, _, groups = ends.shape
    for name, tensor in (("slots", slots), ("starts", starts), ("lengths", lengths)):
        check_tensor(name, tensor, (rows,), INT32, device)
    place = torch.arange(places, dtype=torch.int32, device=device)
    at = (starts[:, None] + place)[:, None].expand(-1, heads, -1)
    own = torch.searchsorted(ends, place.expand(rows, heads, -1).contiguous(), right=True)
    own = own.clamp(max=groups - 1)
    unused = (place >= lengths[:, None])[:, None, :, None]
    wide = own.unsqueeze(3).expand(-1, -1, -1, keys.shape[3])
    away = []
    for cache, means in ((keys, mean_keys), (values, mean_values)):
        entries = gather_entries(cache, slots, at).float()
        away.append((entries - means.float().gather(2, wide)).masked_fill(unused, 0.0))
    squares = away[0].square().mean(dim=3)
    sums = torch.zeros(rows, heads, groups, device=device).scatter_add_(2, own, squares)
    sizes = torch.diff(ends, dim=2, prepend=torch.zeros_like(ends[:, :, :1])).clamp(min=1)
    tilts = away[0].mT @ away[1] / lengths.clamp(min=1)[:, None, None, None]
    return (sums / sizes).sqrt(), tilts


def tree_spread(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    tree: Tree,
) -> torch.Tensor:
    """(rows, kv_heads, nodes) float64: sums over a node's entries of |k - mean of the node|^2.

    A child's is always lower than its parent's. For a prefill, on any device.

    Args:
        keys: (slots, kv_heads, capacity, head_dim), one layer of the arena, in the tree's order.
        slots, starts, lengths: (rows,) int32, where each row's region lies.
        tree: of these regions.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    check_arena_layer("keys", keys)
    rows, heads, places = tree.permutation.shape
    device = keys.device
    for name, tensor in (("slots", slots), ("starts", starts), ("lengths", lengths)):
        check_tensor(name, tensor, (rows,), INT32, device)
    place = torch.arange(places, device=device)
    at = (starts[:, None] + place)[:, None].expand(-1, heads, -1)
    entries = gather_entries(keys, slots, at).double()
    used = place < lengths[:, None]
    unused = ~used[:, None, :, None]
    counts = lengths.clamp(min=1)[:, None, None]
    center = entries.masked_fill(unused, 0.0).sum(dim=2) / counts
    away = (entries - center.unsqueeze(2)).masked_fill(unused, 0.0)
    squares = away.square().sum(dim=3)
    total = squares.sum(dim=2, keepdim=True)
    sums = torch.nn.functional.pad(away.cumsum(dim=2), (0, 0, 1, 0))
    squares = torch.nn.functional.pad(squares.cumsum(dim=2), (1, 0))
    first, end = tree.starts.long(), tree.ends.long()
    wide = (rows, heads, first.shape[2], keys.shape[3])
    moved = sums.gather(2, end.unsqueeze(3).expand(wide))
    moved -= sums.gather(2, first.unsqueeze(3).expand(wide))
    size = end - first
    around = squares.gather(2, end) - squares.gather(2, first)
    around -= moved.square().sum(dim=3) / size.clamp(min=1)
    step = STEP * total.clamp(min=torch.finfo(torch.float32).tiny) / counts
    return around.clamp(min=0) + step * size
