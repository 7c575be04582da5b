"""Float64 reference of `murmur_kernels.tree_order`: one tree, node by node."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_kernels.reference.two_means import two_means_reference


@dataclass
class Node:
    """A node: its range of places, its parent's number and its left child's, or 0."""

    start: int
    end: int
    parent: int = 0
    left_child: int = 0


def tree_order_reference(
    vectors: torch.Tensor, *, leaf_size: int, levels: int, cosine: bool, iterations: int = 8
) -> tuple[list[int], list[Node]]:
    """Entries by place, and nodes by number, of the tree over vectors (length, head_dim)."""
    order = list(range(len(vectors)))
    nodes = [Node(0, len(vectors))]
    level = [0]
    for depth in range(levels):
        children = []
        for number in level:
            node = nodes[number]
            if node.end - node.start <= leaf_size:
                continue
            entries = order[node.start : node.end]
            left, right = two_means_reference(
                vectors[entries],
                node.start,
                max_child=leaf_size * 2 ** (levels - depth - 1),
                cosine=cosine,
                iterations=iterations,
            )
            order[node.start : node.end] = [entries[i] for i in left + right]
            cut = node.start + len(left)
            node.left_child = len(nodes)
            children += [len(nodes), len(nodes) + 1]
            nodes += [Node(node.start, cut, number), Node(cut, node.end, number)]
        level = children
    return order, nodes
