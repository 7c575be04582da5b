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

`remainder`, `split=spread`, `second_order` and `reach` are ours: see `groups.py` and
`policies/c3.py`. The speech is stored in the order of the tree's leaves, so each node is one range
of the slot, and means of ranges come from prefix sums. Without operations the frontier stays as
it starts, and neither tree nor sums are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.groups import GroupIndex
from murmur_cli.engine.indexes.ordered_speech import LayerRows, OrderedSpeech
from murmur_cli.engine.policies.c3 import C3
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import (
    NO_WEIGHT,
    Frontier,
    GroupRanking,
    Tree,
    group_moments,
    start_frontier,
    tree_order,
    tree_spread,
)


class C3Index(GroupIndex):
    """Groups are the nodes of a frontier that stays as it starts."""

    def __init__(self, rule: C3, arena: KvArena, places: int) -> None:
        self._options = rule
        self._places = places
        self._speech = OrderedSpeech(arena, places)
        by_mass = rule.rank == "mass"
        ranking = GroupRanking(
            "cosine" if rule.rank == "cosine" else "dot",
            "max",
            by_mass=by_mass,
            reach=rule.reach,
            decay=rule.decay,
        )
        groups = -(-places // rule.granularity)
        super().__init__(rule, arena, groups, ranking, second_order=rule.second_order)

    def build(self, rows: SpeechRows) -> None:
        """Tree, order of storage and first frontier of every layer."""
        options = self._options
        for layer in range(self._arena.shape.layers):
            flat = self._speech.one_layer(rows, layer)
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
            self._store(flat, tree)

    def _store(self, flat: LayerRows, tree: Tree) -> None:
        """Rewrite the speech of rows in the order of their trees, and fill the table."""
        self._speech.store(flat, tree.permutation)
        self._start(flat, tree)

    def _start(self, flat: LayerRows, tree: Tree) -> Frontier:
        """The first frontier of these rows, whose speech is stored; the table is filled with it."""
        spread = None
        if self._options.split == "spread":
            spread = tree_spread(flat.keys, flat.slots, flat.starts, flat.lengths, tree)
            spread = self._with_small_nodes(spread, tree, flat.lengths)
        heads = self._arena.shape.kv_heads
        wanted = -(-flat.lengths // self._options.granularity)
        frontier = start_frontier(
            tree,
            wanted[:, None].expand(-1, heads).contiguous(),
            size=self._groups,
            spread=spread,
        )
        table, at = self.table, flat.slots.long()
        sizes = frontier.ends - frontier.starts
        log_sizes = torch.where(sizes > 0, sizes.float().log(), NO_WEIGHT)
        ends = torch.where(sizes > 0, frontier.ends, flat.lengths[:, None, None])
        for state, part in (
            (table.starts, frontier.starts),
            (table.ends, frontier.ends),
            (table.log_sizes, log_sizes),
            (table.counts, frontier.counts),
        ):
            state.flatten(0, 1)[at] = part
        for mean_state, mean in self._means(flat, ends):
            # Tilts are products: beyond float16 they would be infinite, and the mix no number.
            largest = torch.finfo(mean_state.dtype).max
            mean_state.flatten(0, 1)[at] = mean.clamp(-largest, largest).to(mean_state.dtype)
        return frontier

    def _with_small_nodes(
        self, spread: torch.Tensor, tree: Tree, lengths: torch.Tensor
    ) -> torch.Tensor:
        """Nodes that no budget has room for come before all others: they could not be read."""
        limits = [self._options.least_of(length) for length in lengths.tolist()]
        most = torch.tensor(limits, device=spread.device)[:, None, None]
        nodes = spread.shape[2]
        sizes = tree.ends[:, :, :nodes] - tree.starts[:, :, :nodes]
        return torch.where(sizes > most, spread + 2 * spread[:, :, :1] + 1, spread)

    def _wanted(self, layer: int, rows: SpeechRows) -> torch.Tensor:
        """The budgets; of one share for all heads at least `least` entries."""
        wanted = super()._wanted(layer, rows)
        if self._options.budget.share is None:
            return wanted
        least = [min(self._options.least, length) for length in rows.lengths]
        return wanted.maximum(torch.tensor(least, dtype=torch.int32, device=rows.device)[:, None])

    def _means(
        self, flat: LayerRows, ends: torch.Tensor
    ) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """What is known of the nodes' entries, beside the part of the table where it goes."""
        table = self.table
        if table.second_order is not None:
            found = group_moments(
                *(flat.keys, flat.values, flat.slots, flat.starts, flat.lengths, ends),
                places=self._places,
            )
            return [
                (self._keys, found.keys),
                (self._values, found.values),
                (table.second_order.deviations, found.deviations),
                (table.second_order.tilts, found.tilts),
            ]
        means = [(self._keys, self._speech.means(flat, ends, of_values=False))]
        if table.values is not None:
            means.append((table.values, self._speech.means(flat, ends, of_values=True)))
        return means

    def _permutation(self, layer: int) -> torch.Tensor:
        return self._speech.permutation[layer]

    def in_time(
        self, layer: int, rows: SpeechRows, heads: Sequence[int], by_entry: torch.Tensor
    ) -> torch.Tensor:
        """Undo the order of the tree."""
        return self._speech.in_time(layer, rows, heads, by_entry)
