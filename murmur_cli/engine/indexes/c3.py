"""C³ (Cluster-Compete-Compete), and C³ with remainder.

Source: an AI summary of "C3: Speech-Guided KV Retrieval for Long-Context SpeechLLM Inference";
the paper was not at hand. From it: a binary tree of two-means per layer and KV head (8
iterations a split, seed 0); an active frontier of ceil(N / 16) nodes that shares out all speech
entries; every step ranks nodes by the best cosine of centroid and any query head of the group,
and takes them in that order until the budget is full; running averages of these scores (0.5)
steer two paired splits and merges a step, which the next step sees; no retrieval if N <= B.

Where it is silent:
- two-means by cosine, as the ranking (`metric=euclidean` is the other reading); its first
  centroids, ties and lopsided splits as `murmur_kernels.two_means` says;
- the frontier starts as the nodes that splitting the largest one again and again gives;
- a node's centroid for the ranking is the mean of its keys, which is also its summary;
- ranking takes this step's cosine, not the average;
- of the node that no longer fits the first entries in the order of its subtree are taken; at most
  128 nodes a step are read;
- split: highest average with children; merge: pair of siblings whose higher average is lowest;
  both only if the first is higher than the second; children inherit, a parent takes the higher.

`remainder` is ours: see `groups.py`. The speech is stored in the order of the tree's leaves, so
each node is one range of the slot, and means of ranges come from prefix sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.groups import NO_WEIGHT, GroupIndex
from murmur_cli.engine.indexes.ordered_speech import OrderedSpeech
from murmur_cli.engine.policies.c3 import C3
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import (
    Frontier,
    Tree,
    centroid_score,
    frontier_update,
    range_summaries,
    start_frontier,
    tree_order,
)

MOVED = 3
"""Nodes of a frontier that one paired operation replaces."""


class C3Index(GroupIndex):
    """Groups are the active nodes of a tree."""

    def __init__(self, rule: C3, arena: KvArena, places: int) -> None:
        groups = -(-places // rule.granularity)
        self._options = rule
        self._places = places
        self._speech = OrderedSpeech(arena, places)
        super().__init__(
            rule,
            arena,
            groups,
            self._speech,
            # Twice as many as hold so much on average.
            spare_groups=2 * (rule.budget.of(places) // rule.granularity) + 8,
        )
        shape = arena.shape
        leading = (shape.layers, shape.slots, shape.kv_heads)
        nodes = max(1, 2 * (places - rule.leaf) + 1)
        self._nodes = {
            name: self._int32(*leading, nodes)
            for name in ("starts", "ends", "left_children", "parents", "positions")
        }
        self._node_counts = self._int32(*leading)
        self._active = self._int32(*leading, groups)
        self._averages = torch.zeros(*leading, groups, device=shape.device)
        self._counts = self._int32(*leading)

    def build(self, rows: SpeechRows) -> None:
        """Tree, order of storage and prefix sums, for all layers at once."""
        options = self._options
        flat = self._speech.all_layers(rows)
        tree = tree_order(
            flat.keys,
            flat.slots,
            flat.starts,
            flat.lengths,
            places=self._places,
            leaf_size=options.leaf,
            metric="cosine" if options.metric == "cosine" else "euclidean",
            iterations=options.iterations,
            seed=options.seed,
        )
        self._speech.store(flat, tree.permutation)
        for name in ("starts", "ends", "left_children", "parents"):
            self._nodes[name].flatten(0, 1)[flat.slots.long()] = getattr(tree, name)
        self._node_counts.flatten(0, 1)[flat.slots.long()] = tree.node_counts

    def settle(self, rows: SpeechRows) -> None:
        """The first frontier, whatever an earlier decode left."""
        for layer in range(self._arena.shape.layers):
            tree = self._tree(layer, rows)
            sizes = -(-rows.entries // self._options.granularity)
            heads = self._arena.shape.kv_heads
            frontier = start_frontier(
                tree, sizes[:, None].expand(-1, heads).contiguous(), size=self._groups
            )
            slots = rows.slot_index.long()
            self._active[layer, slots] = frontier.nodes
            self._averages[layer, slots] = frontier.averages
            self._counts[layer, slots] = frontier.counts
            self.table.numbers[layer, slots] = frontier.counts.float().mean(dim=1)
            self._nodes["positions"][layer, slots] = frontier.positions
            self.table.starts[layer, slots] = frontier.starts
            self.table.ends[layer, slots] = frontier.ends
            self._renew(layer, rows, frontier)

    def in_time(
        self, layer: int, rows: SpeechRows, heads: Sequence[int], by_entry: torch.Tensor
    ) -> torch.Tensor:
        """Undo the order of the tree."""
        return self._speech.in_time(layer, rows, heads, by_entry)

    def _scores(
        self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float
    ) -> torch.Tensor:
        options = self._options
        if not options.operations:
            return self._rank(layer, rows, query, scale, None)
        frontier = self._frontier(layer, rows)
        if any(step > 1 for step in rows.steps):
            self._move(layer, rows, frontier)
        scores = self._rank(layer, rows, query, scale, frontier.averages)
        rows.put(self._averages[layer], frontier.averages)
        return scores

    def _rank(
        self,
        layer: int,
        rows: SpeechRows,
        query: torch.Tensor,
        scale: float,
        averages: torch.Tensor | None,
    ) -> torch.Tensor:
        """Scores of the active nodes; brings their averages up to date."""
        by = self._options.rank
        keys = rows.of(self.table.keys[layer])
        # The last mean is no node's. Where no averages are kept it is scored with the others:
        # a slice would be copied.
        if averages is not None:
            keys = keys[:, :, : self._groups]
        bias = rows.of(self.table.log_sizes[layer])[:, :, : keys.shape[2]]
        fresh = None
        if averages is not None:
            fresh = torch.tensor([step == 1 for step in rows.steps], device=rows.device)
        return centroid_score(
            query,
            keys,
            rows.of(self._counts[layer]),
            metric="cosine" if by == "cosine" else "dot",
            reduce="max",
            scale=1.0 if by == "cosine" else scale,
            bias=bias if by == "mass" else None,
            average=averages,
            decay=self._options.decay,
            fresh=fresh,
        )[:, :, : self._groups]

    def _move(self, layer: int, rows: SpeechRows, frontier: Frontier) -> None:
        """The paired operations that the last step's averages ask for."""
        operations = self._options.operations
        heads = self._arena.shape.kv_heads
        changed = self._int32(len(rows.slots), heads, MOVED * operations)
        number = self._int32(len(rows.slots), heads)
        # Averages of a row's first step are those of an earlier one: its frontier stays.
        active = torch.tensor([step > 1 for step in rows.steps], device=rows.device)
        frontier_update(
            self._tree(layer, rows),
            frontier,
            changed,
            number,
            operations=operations,
            active=active,
        )
        for state, part in (
            (self._active, frontier.nodes),
            (self.table.starts, frontier.starts),
            (self.table.ends, frontier.ends),
            (self._nodes["positions"], frontier.positions),
        ):
            rows.put(state[layer], part)
        self._renew_changed(layer, rows, frontier, changed, number)

    def _renew_changed(
        self,
        layer: int,
        rows: SpeechRows,
        frontier: Frontier,
        changed: torch.Tensor,
        number: torch.Tensor,
    ) -> None:
        # What is not used goes to the last mean, which is no node's, and back.
        used = torch.arange(changed.shape[2], device=rows.device) < number.unsqueeze(2)
        node = changed.long().where(used, 0)
        at = node.where(used, self._groups)
        spans = torch.stack((frontier.starts.gather(2, node), frontier.ends.gather(2, node)), dim=3)
        shape = (*at.shape, self._arena.shape.head_dim)
        wide = at.unsqueeze(3).expand(shape)
        keys = rows.of(self.table.keys[layer])
        log_sizes = rows.of(self.table.log_sizes[layer])
        new_keys, new_sizes = keys.gather(2, wide), log_sizes.gather(2, at)
        key_sums, value_sums = self._speech.prefix_sums(layer, rows)
        values = new_values = None
        if self._rule.remainder:
            values = rows.of(self._values[layer])
            new_values = values.gather(2, wide)
        range_summaries(
            key_sums,
            value_sums if self._rule.remainder else None,
            spans,
            number,
            new_keys,
            new_values,
            new_sizes,
        )
        # A position may have changed twice; both have read its present range.
        rows.put(self.table.keys[layer], keys.scatter_(2, wide, new_keys))
        rows.put(self.table.log_sizes[layer], log_sizes.scatter_(2, at, new_sizes))
        if values is not None and new_values is not None:
            rows.put(self._values[layer], values.scatter_(2, wide, new_values))

    def _renew(self, layer: int, rows: SpeechRows, frontier: Frontier) -> None:
        """Means of all active nodes."""
        spans = torch.stack((frontier.starts, frontier.ends), dim=3)
        key_sums, value_sums = self._speech.prefix_sums(layer, rows)
        slots = rows.slot_index.long()
        keys = self.table.keys[layer, slots]
        values = self._values[layer, slots] if self._rule.remainder else None
        log_sizes = torch.full((*keys.shape[:3],), NO_WEIGHT, device=rows.device)
        range_summaries(
            key_sums,
            value_sums if values is not None else None,
            spans,
            frontier.counts,
            keys[:, :, : self._groups],
            None if values is None else values[:, :, : self._groups],
            log_sizes[:, :, : self._groups],
        )
        self.table.keys[layer, slots] = keys
        self.table.log_sizes[layer, slots] = log_sizes
        if values is not None:
            self._values[layer, slots] = values

    def _tree(self, layer: int, rows: SpeechRows) -> Tree:
        part = {name: rows.of(self._nodes[name][layer]) for name in self._nodes}
        return Tree(
            permutation=rows.of(self._speech.permutation[layer]),
            starts=part["starts"],
            ends=part["ends"],
            left_children=part["left_children"],
            parents=part["parents"],
            node_counts=rows.of(self._node_counts[layer]),
        )

    def _frontier(self, layer: int, rows: SpeechRows) -> Frontier:
        return Frontier(
            nodes=rows.of(self._active[layer]),
            starts=rows.of(self.table.starts[layer]),
            ends=rows.of(self.table.ends[layer]),
            averages=rows.of(self._averages[layer]),
            positions=rows.of(self._nodes["positions"][layer]),
            counts=rows.of(self._counts[layer]),
        )
