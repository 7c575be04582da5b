"""Builds a binary tree over a region's keys, whose leaves in order make every node one range.

The root is the whole region; a node of more than `leaf_size` entries is split by `two_means`,
level by level, over all rows, heads and nodes at once. Stored or listed in the order of the
leaves, the entries of any node are consecutive: a selection of nodes is a list of ranges.

A lopsided tree is cut short: with L levels, a node at level l may hold leaf_size * 2^(L - l)
entries, and one that would hold more is halved. Levels default to twice those of a balanced tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_kernels.tensor_checks import INT32, check_at_least, check_tensor
from murmur_kernels.two_means import KeyMetric, two_means


@dataclass(frozen=True, slots=True)
class Tree:
    """Trees of all rows and KV heads. Nodes are numbered level by level; 0 is the root.

    A left child has an odd number and its sibling the next one.

    Attributes:
        permutation: (rows, kv_heads, places) int32; place p holds entry permutation[p] of the
            region. Within a leaf, entries ascend.
        starts, ends: (rows, kv_heads, nodes) int32, half-open places of each node.
        left_children: (rows, kv_heads, nodes) int32. 0: a leaf.
        parents: (rows, kv_heads, nodes) int32; of the root, 0.
        node_counts: (rows, kv_heads) int32; nodes beyond are padding, all zeros.
    """

    permutation: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor
    left_children: torch.Tensor
    parents: torch.Tensor
    node_counts: torch.Tensor


def tree_order(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    *,
    places: int,
    leaf_size: int = 1,
    levels: int | None = None,
    metric: KeyMetric = "cosine",
    iterations: int = 8,
    seed: int = 0,
) -> Tree:
    """The trees of the regions. For a prefill: it runs tens of kernels, and on the CPU it waits.

    Args:
        keys: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots, starts, lengths: (rows,) int32, where each row's region lies; a length of 0 gives a
            tree of one empty leaf.
        places: at least the longest length; sizes the result.
        leaf_size: entries that a leaf may hold.
        levels: of splits at most, enough for a balanced tree. None: twice as many as that needs.
        metric, iterations, seed: of `two_means`.

    Raises:
        ValueError: shapes, dtypes, devices or numbers that do not fit.
    """
    device = keys.device
    check_at_least("leaf_size", leaf_size, 1)
    check_at_least("places", places, 0)
    check_tensor("lengths", lengths, (None,), INT32, device)
    balanced = max(0, -(-places // leaf_size) - 1).bit_length()
    levels = 2 * balanced if levels is None else levels
    check_at_least("levels", levels, balanced)
    rows, heads = lengths.shape[0], keys.shape[1]
    permutation = torch.arange(places, dtype=torch.int32, device=device).repeat(rows, heads, 1)
    growing = _GrowingTree(lengths, heads, max(1, 2 * (places - leaf_size) + 1))
    for level in range(levels):
        nodes = growing.level_nodes(min(2**level, 2 * (places // (leaf_size + 1))))
        begin, end = growing.table[0].gather(2, nodes), growing.table[1].gather(2, nodes)
        splits = growing.is_of_level(nodes) & (end - begin > leaf_size)
        if device.type == "cpu" and not bool(splits.any()):
            break
        permutation, left_sizes = two_means(
            keys,
            slots,
            starts,
            permutation,
            begin,
            torch.where(splits, end, begin),
            max_child=leaf_size * 2 ** (levels - level - 1),
            metric=metric,
            iterations=iterations,
            seed=seed,
        )
        growing.split(nodes, splits, begin, begin + left_sizes, end)
    return growing.tree(permutation)


class _GrowingTree:
    """The node table while levels are added; its last column takes what is written for padding."""

    def __init__(self, lengths: torch.Tensor, heads: int, max_nodes: int) -> None:
        shape = (4, lengths.shape[0], heads, max_nodes + 1)
        # starts, ends, left children, parents
        self.table = torch.zeros(shape, dtype=torch.int32, device=lengths.device)
        self.table[1, :, :, 0] = lengths[:, None]
        self._padding = max_nodes
        self._first = torch.zeros(shape[1:3], dtype=torch.int32, device=lengths.device)
        self._end = torch.ones_like(self._first)

    def level_nodes(self, most: int) -> torch.Tensor:
        """(rows, kv_heads, nodes) int64: the nodes of the last level, at most `most`, padded."""
        if self.table.device.type == "cpu" and self._first.numel():
            most = int((self._end - self._first).max())
        number = torch.arange(most, device=self.table.device)
        nodes = self._first.unsqueeze(2) + number
        return torch.where(nodes < self._end.unsqueeze(2), nodes, self._padding)

    def is_of_level(self, nodes: torch.Tensor) -> torch.Tensor:
        """Which of `level_nodes` are no padding."""
        return nodes < self._end.unsqueeze(2)

    def split(
        self,
        nodes: torch.Tensor,
        splits: torch.Tensor,
        begin: torch.Tensor,
        cut: torch.Tensor,
        end: torch.Tensor,
    ) -> None:
        """Give two children to the nodes that are split; those children are the next level."""
        left = self._end.unsqueeze(2) + 2 * (splits.cumsum(dim=2) - splits.long())
        left = torch.where(splits, left, self._padding)
        right = torch.where(splits, left + 1, self._padding)
        starts, ends, left_children, parents = self.table
        for child, child_start, child_end in ((left, begin, cut), (right, cut, end)):
            starts.scatter_(2, child, child_start)
            ends.scatter_(2, child, child_end)
            parents.scatter_(2, child, nodes.to(torch.int32))
        parent = torch.where(splits, nodes, self._padding)
        left_children.scatter_(2, parent, left.to(torch.int32))
        self._first = self._end
        self._end = self._end + 2 * splits.sum(dim=2).to(torch.int32)

    def tree(self, permutation: torch.Tensor) -> Tree:
        """What has grown."""
        starts, ends, left_children, parents = self.table[..., : self._padding].contiguous()
        return Tree(permutation, starts, ends, left_children, parents, self._end)
