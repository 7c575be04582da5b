"""The active frontier of a tree: nodes that share out all entries, at different depths."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_kernels.tree_order import Tree


@dataclass(frozen=True, slots=True)
class Frontier:
    """Frontiers of all rows and KV heads; `frontier_update` writes all but the counts.

    Attributes:
        nodes: (rows, kv_heads, size) int32, which nodes are active; their places are in no order.
        starts, ends: (rows, kv_heads, size) int32, half-open places of each active node.
        averages: (rows, kv_heads, size) float32, of their scores, for `centroid_score`.
        positions: (rows, kv_heads, nodes) int32; an active node is nodes[positions[node]]. Of
            others it means nothing, which is how they are known.
        counts: (rows, kv_heads) int32, active nodes; the rest of `size` is padding.
    """

    nodes: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor
    averages: torch.Tensor
    positions: torch.Tensor
    counts: torch.Tensor


def start_frontier(
    tree: Tree, sizes: torch.Tensor, *, size: int, spread: torch.Tensor | None = None
) -> Frontier:
    """The frontier that splitting the largest node again and again, from the root on, gives.

    Of equal nodes the one with the lowest first place is split. A child is smaller than its
    parent, so the nodes that are split are the largest ones that have children: one sort, no
    loop. Averages are 0. For a prefill, on any device.

    With `spread` the largest node is the one whose entries differ most, not the one with most.

    Args:
        tree: of `tree_order`.
        sizes: (rows, kv_heads) int32, active nodes wanted, at least 1. There are fewer where the
            tree has fewer leaves, and none of an empty region.
        size: at least the largest of `sizes`; room for active nodes.
        spread: (rows, kv_heads, nodes) of `tree_spread`: of as many nodes as there are, and no
            child's above its parent's. Of equal nodes the one with the lowest number is split.
    """
    number = torch.arange(tree.starts.shape[2], dtype=torch.int32, device=tree.starts.device)
    has_children = tree.left_children > 0
    entries = (tree.ends - tree.starts).long()
    places = tree.permutation.shape[2] + 1
    # Larger first, then lower first places; what has no children comes last.
    if spread is None:
        rank = (places - entries) * places + tree.starts
        order = torch.where(has_children, rank, places * places * 2).argsort(dim=2, stable=True)
    else:
        rank = torch.where(has_children[:, :, : spread.shape[2]], -spread, torch.inf)
        order = rank.argsort(dim=2, stable=True)
    splits = torch.minimum(sizes.clamp(1, size) - 1, has_children.sum(dim=2)).unsqueeze(2)
    is_split = torch.zeros_like(has_children)
    is_split.scatter_(2, order, number[: order.shape[2]] < splits)
    exists = number < tree.node_counts.unsqueeze(2)
    from_split = is_split.gather(2, tree.parents.long()) | (number == 0)
    active = exists & from_split & ~is_split & (tree.ends > tree.starts)
    # Active nodes first, by first place: they share out the region, so no two start alike.
    by_place = torch.where(active, tree.starts, places).argsort(dim=2, stable=True)
    nodes = torch.zeros(*sizes.shape, size, dtype=torch.int32, device=sizes.device)
    room = min(size, by_place.shape[2])
    counts = active.sum(dim=2).to(torch.int32)
    used = torch.arange(room, device=sizes.device) < counts.unsqueeze(2)
    nodes[:, :, :room] = by_place[:, :, :room].where(used, 0)
    position = torch.arange(size, dtype=torch.int32, device=sizes.device).expand_as(nodes)
    filled = position < counts.unsqueeze(2)
    positions = torch.zeros_like(tree.starts)
    positions.scatter_reduce_(2, nodes.long(), position.where(filled, 0).to(torch.int32), "amax")
    return Frontier(
        nodes=nodes,
        starts=tree.starts.gather(2, nodes.long()).where(filled, 0),
        ends=tree.ends.gather(2, nodes.long()).where(filled, 0),
        averages=torch.zeros(nodes.shape, device=sizes.device),
        positions=positions,
        counts=counts,
    )
