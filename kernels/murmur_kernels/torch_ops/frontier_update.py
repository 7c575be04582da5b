"""`frontier_update` over all rows and heads at once, one operation after the other."""

from __future__ import annotations

import torch

from murmur_kernels.frontier import Frontier
from murmur_kernels.tree_order import Tree


def frontier_update_torch(
    tree: Tree,
    frontier: Frontier,
    changed: torch.Tensor,
    num_changed: torch.Tensor,
    operations: int,
    active: torch.Tensor | None,
) -> None:
    """`frontier_update` on checked arguments."""
    done = torch.zeros_like(num_changed)
    if frontier.nodes.numel():
        for _ in range(operations):
            done += _paired_operation(tree, frontier, changed, done, active)
    if active is None:
        num_changed.copy_(done)
    else:
        num_changed[active] = done[active]


def _paired_operation(
    tree: Tree,
    frontier: Frontier,
    changed: torch.Tensor,
    num_changed: torch.Tensor,
    active: torch.Tensor | None,
) -> torch.Tensor:
    """Positions changed of every (row, KV head): 3 or 0."""
    used = torch.arange(frontier.nodes.shape[2]) < frontier.counts.unsqueeze(2)
    node = frontier.nodes.long()
    averages = frontier.averages
    left_child = tree.left_children.gather(2, node)
    split_score, split = averages.where(used & (left_child > 0), -torch.inf).max(dim=2)
    parent = tree.parents.gather(2, node).long()
    is_left = used & (node > 0) & (tree.left_children.gather(2, parent) == node)
    sibling = (node + 1).where(is_left, 0)
    sibling_at = frontier.positions.gather(2, sibling).long()
    is_pair = is_left & (sibling_at < frontier.counts.unsqueeze(2))
    is_pair &= node.gather(2, sibling_at) == sibling
    cost = torch.maximum(averages, averages.gather(2, sibling_at))
    merge_score, left = cost.where(is_pair, torch.inf).min(dim=2)
    done = split_score > merge_score
    if active is not None:
        done &= active[:, None]
    row, head = done.nonzero(as_tuple=True)
    split, left = split[row, head], left[row, head]
    right = sibling_at[row, head, left]
    child, merged = left_child[row, head, split], parent[row, head, left].to(torch.int32)
    for number, (at, new, score) in enumerate(
        (
            (split, child, split_score),
            (right, child + 1, split_score),
            (left, merged, merge_score),
        )
    ):
        frontier.nodes[row, head, at] = new
        frontier.starts[row, head, at] = tree.starts[row, head, new]
        frontier.ends[row, head, at] = tree.ends[row, head, new]
        averages[row, head, at] = score[row, head]
        frontier.positions[row, head, new] = at.to(torch.int32)
        changed[row, head, num_changed[row, head] + number] = at.to(torch.int32)
    return 3 * done.to(torch.int32)
