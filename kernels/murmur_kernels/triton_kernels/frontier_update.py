"""`frontier_update` in Triton: one program per row and KV head."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from murmur_kernels.frontier import Frontier
from murmur_kernels.tree_order import Tree

_BLOCK = 128


@triton.jit
def _update(
    tree_starts,
    tree_ends,
    left_children,
    parents,
    nodes,
    starts,
    ends,
    averages,
    positions,
    counts,
    changed,
    num_changed,
    active,
    heads,
    num_nodes,
    size,
    operations,
    HAS_ACTIVE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + row) == 0:
            return
    at_head = row * heads + head
    tree_starts += at_head * num_nodes
    tree_ends += at_head * num_nodes
    left_children += at_head * num_nodes
    parents += at_head * num_nodes
    positions += at_head * num_nodes
    nodes += at_head * size
    starts += at_head * size
    ends += at_head * size
    averages += at_head * size
    changed += at_head * 3 * operations
    count = tl.minimum(tl.load(counts + at_head), size)
    done = 0
    for _ in range(operations):
        split_score = tl.full((), float("-inf"), tl.float32)
        merge_score = tl.full((), float("inf"), tl.float32)
        split = 0
        left = 0
        for first in range(0, count, BLOCK):
            at = first + tl.arange(0, BLOCK)
            used = at < count
            node = tl.load(nodes + at, mask=used, other=0)
            average = tl.load(averages + at, mask=used, other=0.0)
            child = tl.load(left_children + node, mask=used, other=0)
            score = tl.where(child > 0, average, float("-inf"))
            highest = tl.max(score)
            if highest > split_score:
                split_score = highest
                split = tl.min(tl.where(score == highest, at, size))
            is_left = used & (node % 2 == 1)
            sibling_at = tl.load(positions + node + 1, mask=is_left, other=0)
            is_pair = is_left & (sibling_at < count)
            is_pair = is_pair & (tl.load(nodes + sibling_at, mask=is_pair, other=0) == node + 1)
            sibling_average = tl.load(averages + sibling_at, mask=is_pair, other=0.0)
            cost = tl.where(is_pair, tl.maximum(average, sibling_average), float("inf"))
            lowest = tl.min(cost)
            if lowest < merge_score:
                merge_score = lowest
                left = tl.min(tl.where(cost == lowest, at, size))
        if split_score > merge_score:
            child = tl.load(left_children + tl.load(nodes + split))
            left_node = tl.load(nodes + left)
            merged = tl.load(parents + left_node)
            right = tl.load(positions + left_node + 1)
            # All threads have read what follows is written over.
            tl.debug_barrier()
            tl.store(nodes + split, child)
            tl.store(starts + split, tl.load(tree_starts + child))
            tl.store(ends + split, tl.load(tree_ends + child))
            tl.store(averages + split, split_score)
            tl.store(positions + child, split)
            tl.store(nodes + right, child + 1)
            tl.store(starts + right, tl.load(tree_starts + child + 1))
            tl.store(ends + right, tl.load(tree_ends + child + 1))
            tl.store(averages + right, split_score)
            tl.store(positions + child + 1, right)
            tl.store(nodes + left, merged)
            tl.store(starts + left, tl.load(tree_starts + merged))
            tl.store(ends + left, tl.load(tree_ends + merged))
            tl.store(averages + left, merge_score)
            tl.store(positions + merged, left)
            tl.store(changed + done, split)
            tl.store(changed + done + 1, right)
            tl.store(changed + done + 2, left)
            done += 3
        # The next operation reads what this one has written, in any thread.
        tl.debug_barrier()
    tl.store(num_changed + at_head, done)


def frontier_update_triton(
    tree: Tree,
    frontier: Frontier,
    changed: torch.Tensor,
    num_changed: torch.Tensor,
    operations: int,
    active: torch.Tensor | None,
) -> None:
    """`frontier_update` on checked arguments."""
    rows, heads, size = frontier.nodes.shape
    if rows == 0 or heads == 0:
        return
    _update[(rows, heads)](
        tree.starts,
        tree.ends,
        tree.left_children,
        tree.parents,
        frontier.nodes,
        frontier.starts,
        frontier.ends,
        frontier.averages,
        frontier.positions,
        frontier.counts,
        changed,
        num_changed,
        active,
        heads,
        tree.starts.shape[2],
        size,
        operations,
        HAS_ACTIVE=active is not None,
        BLOCK=_BLOCK,
    )
