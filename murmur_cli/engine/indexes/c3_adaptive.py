"""C³'s adaptive frontier: fine where the queries look, coarse where they do not. See `c3.py`."""

from __future__ import annotations

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.c3 import C3Index
from murmur_cli.engine.indexes.ordered_speech import LayerRows
from murmur_cli.engine.policies.c3 import C3
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import Frontier, PrefixSums, Tree, frontier_update, range_summaries

MOVED = 3
"""Nodes of a frontier that one paired operation replaces."""

TREE = ("permutation", "starts", "ends", "left_children", "parents", "node_counts")


class AdaptiveC3Index(C3Index):
    """Splits and merges nodes between steps; keeps the trees and prefix sums for it."""

    def __init__(self, rule: C3, arena: KvArena, places: int) -> None:
        super().__init__(rule, arena, places)
        shape = arena.shape
        leading = (shape.layers, shape.slots, shape.kv_heads)
        nodes = max(1, 2 * (places - rule.leaf) + 1)
        self._tree = Tree(
            permutation=self._speech.permutation,
            node_counts=self._int32(*leading),
            **{name: self._int32(*leading, nodes) for name in TREE[1:-1]},
        )
        self._nodes = self._int32(*leading, self._groups)
        self._positions = self._int32(*leading, nodes)
        self._averages_of_scores = torch.zeros(*leading, self._groups, device=shape.device)
        self._sums = tuple(
            PrefixSums(
                torch.zeros(*leading, places + 1, shape.head_dim, device=shape.device),
                torch.zeros(*leading, shape.head_dim, device=shape.device),
            )
            for _ in range(2)
        )

    def _store(self, flat: LayerRows, tree: Tree) -> None:
        """Keep trees and prefix sums as well."""
        at = flat.slots.long()
        sums = self._speech.prefix_sums(flat, tree.permutation)
        for state, part in zip(self._sums, sums, strict=True):
            state.sums.flatten(0, 1)[at] = part.sums
            state.center.flatten(0, 1)[at] = part.center
        for name in TREE[1:]:
            getattr(self._tree, name).flatten(0, 1)[at] = getattr(tree, name)
        super()._store(flat, tree)

    def settle(self, rows: SpeechRows) -> None:
        """The first frontier, whatever an earlier decode left."""
        for layer in range(self._arena.shape.layers):
            flat = self._speech.one_layer(rows, layer)
            at = flat.slots.long()
            tree = Tree(**{name: getattr(self._tree, name).flatten(0, 1)[at] for name in TREE})
            self._start(flat, tree)

    def _start(self, flat: LayerRows, tree: Tree) -> Frontier:
        frontier = super()._start(flat, tree)
        at = flat.slots.long()
        self._nodes.flatten(0, 1)[at] = frontier.nodes
        self._positions.flatten(0, 1)[at] = frontier.positions
        self._averages_of_scores.flatten(0, 1)[at] = frontier.averages
        return frontier

    def _averages(self, layer: int) -> torch.Tensor:
        return self._averages_of_scores[layer]

    def _prepare(self, layer: int, rows: SpeechRows) -> None:
        """Averages of a row's first step are those of an earlier one: its frontier stays."""
        moves = [number for number, step in enumerate(rows.steps) if step > 1]
        if moves:
            self._move(layer, rows.only(moves))

    def _move(self, layer: int, rows: SpeechRows) -> None:
        """The paired operations that the last step's averages ask for."""
        frontier = Frontier(
            nodes=rows.of(self._nodes[layer]),
            starts=rows.of(self.table.starts[layer]),
            ends=rows.of(self.table.ends[layer]),
            averages=rows.of(self._averages_of_scores[layer]),
            positions=rows.of(self._positions[layer]),
            counts=rows.of(self.table.counts[layer]),
        )
        operations = self._options.operations
        heads = self._arena.shape.kv_heads
        changed = self._int32(len(rows.slots), heads, MOVED * operations)
        number = self._int32(len(rows.slots), heads)
        frontier_update(
            Tree(**{name: rows.of(getattr(self._tree, name)[layer]) for name in TREE}),
            frontier,
            changed,
            number,
            operations=operations,
        )
        for state, part in (
            (self._nodes, frontier.nodes),
            (self.table.starts, frontier.starts),
            (self.table.ends, frontier.ends),
            (self._positions, frontier.positions),
            (self._averages_of_scores, frontier.averages),
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
        """Means of the nodes that are new."""
        used = torch.arange(changed.shape[2], device=rows.device) < number.unsqueeze(2)
        # What is not used says the same as the first, and where none is, what is there already.
        at = changed.where(used, changed[:, :, :1]).long()
        spans = torch.stack((frontier.starts.gather(2, at), frontier.ends.gather(2, at)), dim=3)
        keys, log_sizes = rows.of(self._keys[layer]), rows.of(self.table.log_sizes[layer])
        values = rows.of(self._values[layer]) if self._rule.remainder else None
        wide = at.unsqueeze(3).expand(*at.shape, keys.shape[3])
        new_keys, new_sizes = keys.gather(2, wide), log_sizes.gather(2, at)
        new_values = None if values is None else values.gather(2, wide)
        key_sums, value_sums = (
            PrefixSums(rows.of(part.sums[layer]), rows.of(part.center[layer]))
            for part in self._sums
        )
        counts = torch.where(number > 0, changed.shape[2], 0).to(torch.int32)
        range_summaries(
            key_sums,
            None if values is None else value_sums,
            spans,
            counts,
            new_keys,
            new_values,
            new_sizes,
        )
        rows.put(self._keys[layer], keys.scatter_(2, wide, new_keys))
        rows.put(self.table.log_sizes[layer], log_sizes.scatter_(2, at, new_sizes))
        if values is not None and new_values is not None:
            rows.put(self._values[layer], values.scatter_(2, wide, new_values))
