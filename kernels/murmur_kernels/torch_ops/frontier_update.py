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
    moved = torch.zeros_like(num_changed)
    if frontier.nodes.numel():
        used = torch.arange(frontier.nodes.shape[2]) < frontier.counts.unsqueeze(2)
        if active is not None:
            used &= active[:, None, None]
        for _ in range(operations):
            done = _paired_operation(tree, frontier, used, changed, moved)
            if not bool(done.any()):
                break  # nothing has changed, so nothing will
            moved += 3 * done
    if active is None:
        num_changed.copy_(moved)
    else:
        num_changed[active] = moved[active]


def _paired_operation(
    tree: Tree,
    frontier: Frontier,
    used: torch.Tensor,
    changed: torch.Tensor,
    moved: torch.Tensor,
) -> torch.Tensor:
    """(rows, kv_heads) bool: where it was done. `moved`: positions in `changed` so far."""
    node = frontier.nodes.long()
    averages = frontier.averages
    left_child = tree.left_children.gather(2, node)
    split_score, split = averages.where(used & (left_child > 0), -torch.inf).max(
        dim=2, keepdim=True
    )
    is_left = used & (node % 2 == 1)
    sibling = torch.where(is_left, node + 1, 0)
    sibling_at = frontier.positions.gather(2, sibling).long()
    is_pair = is_left & used.gather(2, sibling_at) & (node.gather(2, sibling_at) == sibling)
    cost = torch.maximum(averages, averages.gather(2, sibling_at))
    merge_score, left = cost.where(is_pair, torch.inf).min(dim=2, keepdim=True)
    done = split_score > merge_score
    child = left_child.gather(2, split)
    merged = tree.parents.gather(2, node.gather(2, left))
    # Where nothing is done, what is there is written once more.
    at = torch.cat((split, sibling_at.gather(2, left), left), dim=2)
    new = torch.cat((child, child + 1, merged), dim=2).where(done, frontier.nodes.gather(2, at))
    index = new.long()
    scores = torch.cat((split_score, split_score, merge_score), dim=2)
    frontier.nodes.scatter_(2, at, new)
    frontier.starts.scatter_(2, at, tree.starts.gather(2, index))
    frontier.ends.scatter_(2, at, tree.ends.gather(2, index))
    averages.scatter_(2, at, scores.where(done, averages.gather(2, at)))
    position = at.to(torch.int32)
    frontier.positions.scatter_(2, index, position)
    place = moved.unsqueeze(2).long() + torch.arange(3)
    place = place.clamp(max=changed.shape[2] - 1)
    changed.scatter_(2, place, position.where(done, changed.gather(2, place)))
    return done.squeeze(2)
