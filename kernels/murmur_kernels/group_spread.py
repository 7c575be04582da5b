"""How the entries of groups that follow each other lie around the means of their groups.

    keys[r, h, g]       = mean of the keys of group g, values of its values
    deviations[r, h, g] = sqrt(mean over entries j of g and elements i of (k_j[i] - k_g[i])^2)
    tilts[r, h, i, c]   = mean over all entries j of (k_j[i] - k_g(j)[i]) (v_j[c] - v_g(j)[c])

with k_g, v_g the means of group g and g(j) the group of entry j: what summaries to second order
hold. One matrix of tilts stands for all groups of a head: one for each would cost as much as
reading the entries. Moments are those of all entries less those of the means, about the mean of
the region: what keys have in common, which may be hundreds, would leave nothing of them.

`tree_spread` says the same of all nodes of a tree, as sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_kernels.tensor_checks import INT32, check_arena_layer, check_tensor
from murmur_kernels.torch_ops.entries import gather_entries
from murmur_kernels.tree_order import Tree


@dataclass(frozen=True, slots=True)
class GroupMoments:
    """Float32; zeros for groups without entries.

    Attributes:
        keys, values: (rows, kv_heads, groups, head_dim), means.
        deviations: (rows, kv_heads, groups); 0 of a single entry.
        tilts: (rows, kv_heads, head_dim, head_dim).
    """

    keys: torch.Tensor
    values: torch.Tensor
    deviations: torch.Tensor
    tilts: torch.Tensor


def group_moments(
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    ends: torch.Tensor,
    *,
    places: int,
) -> GroupMoments:
    """Means, deviations and tilts of groups. For a prefill, on any device.

    Args:
        keys, values: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots, starts, lengths: (rows,) int32, where each row's region lies.
        ends: (rows, kv_heads, groups) int32, rising or equal, the last of them the row's length.
        places: at least the longest length.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    heads = keys.shape[1]
    check_tensor("ends", ends, (None, heads, None), INT32, keys.device)
    rows, _, groups = ends.shape
    sizes = torch.diff(ends, dim=2, prepend=torch.zeros_like(ends[:, :, :1]))
    # What is not used makes a group of its own behind the others.
    unused = (places - ends[:, :, -1:]).to(torch.int32)
    edges = torch.cat((sizes, unused), dim=2).flatten().long()
    weights = sizes.unsqueeze(3).float()

    def by_group(numbers: torch.Tensor, how: str) -> torch.Tensor:
        """(rows, kv_heads, groups, …) of numbers (rows, kv_heads, places, …)."""
        found: torch.Tensor = torch.segment_reduce(
            numbers.flatten(0, 2), how, lengths=edges, initial=0.0
        )
        return found.view(rows, heads, groups + 1, -1)[:, :, :groups]

    region = (slots, starts, lengths, places)
    key_center, keys_away = _centered("keys", keys, *region)
    value_center, values_away = _centered("values", values, *region)
    key_means, value_means = by_group(keys_away, "mean"), by_group(values_away, "mean")
    squares = by_group(keys_away.square().sum(dim=3, keepdim=True), "mean")[..., 0]
    variances = (squares - key_means.square().sum(dim=3)) / keys.shape[3]
    products = keys_away.mT @ values_away - (key_means * weights).mT @ value_means
    filled = weights > 0
    return GroupMoments(
        keys=(key_means + key_center).where(filled, 0.0),
        values=(value_means + value_center).where(filled, 0.0),
        deviations=variances.clamp(min=0).sqrt().where(sizes > 1, 0.0),
        tilts=products / lengths.clamp(min=1)[:, None, None, None],
    )


def tree_spread(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    tree: Tree,
) -> torch.Tensor:
    """(rows, kv_heads, nodes) float32: sums over a node's entries of |k - mean of the node|^2.

    No child's is higher than its parent's, whatever the sums are rounded by. Nodes beyond those
    of the largest tree are left out on the CPU. For a prefill, on any device.

    Args:
        keys: (slots, kv_heads, capacity, head_dim), one layer of the arena, in the tree's order.
        slots, starts, lengths: (rows,) int32, where each row's region lies.
        tree: of these regions.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    places, nodes = tree.permutation.shape[2], tree.starts.shape[2]
    if not keys.is_cuda and tree.node_counts.numel():
        nodes = max(1, int(tree.node_counts.max()))
    _, away = _centered("keys", keys, slots, starts, lengths, places)
    squares = away.square().sum(dim=3).double()
    squares = torch.nn.functional.pad(squares.cumsum(dim=2), (1, 0))
    sums = torch.nn.functional.pad(away.cumsum(dim=2), (0, 0, 1, 0))
    first, end = tree.starts[:, :, :nodes].long(), tree.ends[:, :, :nodes].long()
    wide = (*first.shape, keys.shape[3])
    moved = sums.gather(2, end.unsqueeze(3).expand(wide))
    moved -= sums.gather(2, first.unsqueeze(3).expand(wide))
    around = squares.gather(2, end) - squares.gather(2, first)
    around -= moved.square().sum(dim=3) / (end - first).clamp(min=1)
    spread = around.clamp(min=0).float()
    parents = tree.parents[:, :, :nodes].long()
    for _ in range(2 * places.bit_length()):  # at least the levels of a tree
        spread = torch.minimum(spread, spread.gather(2, parents))
    return spread


def _centered(
    name: str,
    cache: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    places: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean of each region (rows, kv_heads, 1, head_dim), and what entries differ by from it.

    That is (rows, kv_heads, places, head_dim) float32, zeros beyond a row's length.
    """
    check_arena_layer(name, cache)
    device, heads = cache.device, cache.shape[1]
    rows = lengths.shape[0]
    for field, tensor in (("slots", slots), ("starts", starts), ("lengths", lengths)):
        check_tensor(field, tensor, (rows,), INT32, device)
    place = torch.arange(places, device=device)
    at = (starts[:, None] + place)[:, None].expand(-1, heads, -1)
    unused = (place >= lengths[:, None])[:, None, :, None]
    entries = gather_entries(cache, slots, at).float().masked_fill_(unused, 0.0)
    center = entries.sum(dim=2, keepdim=True) / lengths.clamp(min=1)[:, None, None, None]
    return center, entries.sub_(center).masked_fill_(unused, 0.0)
