"""Builds a binary tree over a region's keys, whose leaves in order make every node one range.

The root is the whole region; a node of more than `leaf_size` entries is split by `two_means`,
level by level: over all rows, heads and nodes at once, or by machine code, which makes the trees
of rows and heads one by one, and in them node by node. Stored or listed in the order of the
leaves, the entries of any node are consecutive: a selection of nodes is a list of ranges.

A lopsided tree is cut short: with L levels, a node at level l may hold leaf_size * 2^(L - l)
entries, and one that would hold more is halved. Levels default to twice those of a balanced tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from murmur_kernels.compiled import LANES
from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import (
    INT32,
    check_arena_layer,
    check_at_least,
    check_choice,
    check_tensor,
)
from murmur_kernels.two_means import KeyMetric, two_means

if TYPE_CHECKING:
    from murmur_kernels.compiled.machine_code import MachineCode


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
    """The trees of the regions. For a prefill: on a device it runs tens of kernels.

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
    splits = _Splits(leaf_size, levels, metric, iterations, seed)
    code = _machine_code(keys, metric)
    if code is None:
        return _grown_by_level(keys, slots, starts, lengths, places, splits)
    _check_regions(keys, slots, starts, lengths, places)
    check_choice("metric", metric, ("cosine", "euclidean"))
    check_at_least("iterations", iterations, 1)
    check_at_least("seed", seed, 0)
    return _grown_at_once(code, keys, slots, starts, lengths, places, splits)


@dataclass(frozen=True, slots=True)
class _Splits:
    """How nodes are split; of `tree_order`."""

    leaf_size: int
    levels: int
    metric: KeyMetric
    iterations: int
    seed: int

    def nodes(self, places: int) -> int:
        """That a tree over so many places has at most."""
        return max(1, 2 * (places - self.leaf_size) + 1)


def _machine_code(keys: torch.Tensor, metric: KeyMetric) -> MachineCode | None:
    """What makes whole trees at once; None where they grow level by level."""
    check_arena_layer("keys", keys)
    if implementation(keys.device) == "triton" or keys.shape[3] % LANES:
        return None
    try:
        from murmur_kernels.compiled.tree import tree_code
    except ImportError:  # no llvmlite for this platform
        return None
    return tree_code(keys.shape[3], keys.dtype, metric == "cosine")


def _check_regions(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    places: int,
) -> None:
    """Raise ValueError unless all regions lie in the arena: machine code reads what it is told."""
    rows = lengths.shape[0]
    check_tensor("slots", slots, (rows,), INT32, keys.device)
    check_tensor("starts", starts, (rows,), INT32, keys.device)
    for row, (slot, start, length) in enumerate(
        zip(slots.tolist(), starts.tolist(), lengths.tolist(), strict=True)
    ):
        if not 0 <= slot < keys.shape[0]:
            raise ValueError(f"row {row}: slot {slot} is outside 0 to {keys.shape[0] - 1}")
        if not 0 <= length <= places or not 0 <= start <= keys.shape[2] - length:
            raise ValueError(
                f"row {row}: {length} entries from {start} on are beyond "
                f"{places} places or {keys.shape[2]} entries"
            )


def _grown_at_once(
    code: MachineCode,
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    places: int,
    splits: _Splits,
) -> Tree:
    from murmur_kernels.compiled.tree import grow_trees

    leading = (lengths.shape[0], keys.shape[1])
    order = torch.arange(places, dtype=torch.int32).expand(*leading, places)
    node_starts, node_ends, left_children, parents = torch.zeros(
        4, *leading, splits.nodes(places), dtype=torch.int32
    ).unbind(0)
    tree = Tree(
        permutation=order.contiguous(),
        starts=node_starts,
        ends=node_ends,
        left_children=left_children,
        parents=parents,
        node_counts=torch.zeros(leading, dtype=torch.int32),
    )
    grow_trees(
        code,
        keys,
        slots,
        starts,
        lengths,
        tree.permutation,
        {
            "node_starts": tree.starts,
            "node_ends": tree.ends,
            "left_children": tree.left_children,
            "parents": tree.parents,
            "node_counts": tree.node_counts,
        },
        leaf_size=splits.leaf_size,
        levels=splits.levels,
        iterations=splits.iterations,
        seed=splits.seed,
    )
    return tree


def _grown_by_level(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    places: int,
    splits: _Splits,
) -> Tree:
    rows, heads, device = lengths.shape[0], keys.shape[1], keys.device
    permutation = torch.arange(places, dtype=torch.int32, device=device).repeat(rows, heads, 1)
    growing = _GrowingTree(lengths, heads, splits.nodes(places))
    for level in range(splits.levels):
        nodes = growing.level_nodes(min(2**level, 2 * (places // (splits.leaf_size + 1))))
        begin, end = growing.table[0].gather(2, nodes), growing.table[1].gather(2, nodes)
        is_split = growing.is_of_level(nodes) & (end - begin > splits.leaf_size)
        if device.type == "cpu" and not bool(is_split.any()):
            break
        permutation, left_sizes = two_means(
            keys,
            slots,
            starts,
            permutation,
            begin,
            torch.where(is_split, end, begin),
            max_child=splits.leaf_size * 2 ** (splits.levels - level - 1),
            metric=splits.metric,
            iterations=splits.iterations,
            seed=splits.seed,
        )
        growing.split(nodes, is_split, begin, begin + left_sizes, end)
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
