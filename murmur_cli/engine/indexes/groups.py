"""Speech entries in groups that are ranges of the slot, read best group first.

What C³, ClusterKV, Quest and UNIQUE have in common: a row's groups share out its speech; a step
ranks them by its query and reads whole groups, best first, until the budget is full; of the group
that no longer fits the first entries are read. With `remainder` that group is left unread, and
each group that is not read stays in the softmax as one summary:

    o = [sum_{j in S} e^{q.k_j} v_j + sum_{n not in S} |n| e^{q.k_n} v_n] / [the same without v]

with k_n, v_n the means of the group's keys and values. Summaries of groups that are read have a
weight of nothing, so the table of means is handed over as it lies and no group is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.whole_speech import whole_speech
from murmur_cli.engine.policies.retrieval import GroupRule
from murmur_cli.engine.speech_index import HeadSelection, Observed, SpeechRows
from murmur_kernels import Summaries

MAX_RANGES_READ = 128
"""Groups that a KV head reads in one step at most; `murmur_kernels` has room for no more."""

NO_WEIGHT = -1e30
"""Logarithm of the entries of a summary that stands for none; finite, as -inf - -inf is not."""


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Groups of all (layer, slot, KV head); padding has no entries.

    Attributes:
        starts, ends: (layers, slots, kv_heads, groups) int32, half-open, relative to the start
            of the speech.
        log_sizes: (layers, slots, kv_heads, groups) float32.
        keys, values: (layers, slots, kv_heads, groups, head_dim) float32 means. values: only with
            a remainder.
        numbers: (layers, slots) float32, groups of a row, mean over KV heads.
    """

    starts: torch.Tensor
    ends: torch.Tensor
    log_sizes: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor | None
    numbers: torch.Tensor

    @classmethod
    def empty(cls, arena: KvArena, groups: int, *, with_values: bool) -> GroupTable:
        """A table without entries."""
        shape = arena.shape
        leading = (shape.layers, shape.slots, shape.kv_heads, groups)
        means = (*leading, shape.head_dim)
        starts = torch.zeros(leading, dtype=torch.int32, device=shape.device)
        return cls(
            starts=starts,
            ends=torch.zeros_like(starts),
            log_sizes=torch.full(leading, NO_WEIGHT, device=shape.device),
            keys=torch.zeros(means, device=shape.device),
            values=torch.zeros(means, device=shape.device) if with_values else None,
            numbers=torch.zeros(leading[:2], device=shape.device),
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """What every (layer, slot, KV head) reads, until it is chosen anew.

    Attributes:
        ranges: (layers, slots, kv_heads, R, 2) int32, entries of the slot.
        num_ranges: (layers, slots, kv_heads) int32.
        log_counts: (layers, slots, kv_heads, groups) float32 of the summaries.
        read: (layers, slots) float32, entries read one by one, mean over KV heads.
    """

    ranges: torch.Tensor
    num_ranges: torch.Tensor
    log_counts: torch.Tensor
    read: torch.Tensor


class GroupIndex:
    """A SpeechIndex over groups; a subclass makes the groups and scores them.

    Args:
        rule: the options.
        arena: whose speech it is.
        groups: most groups of a row.
        spare_groups: how many of the best groups usually fill the budget; 0: nobody knows.
    """

    def __init__(
        self,
        rule: GroupRule,
        arena: KvArena,
        groups: int,
        *,
        spare_groups: int = 0,
    ) -> None:
        self._rule = rule
        self._arena = arena
        self._groups = groups
        self._spare_groups = spare_groups
        self.table = GroupTable.empty(arena, groups, with_values=rule.remainder)
        shape = arena.shape
        leading = (shape.layers, shape.slots, shape.kv_heads)
        ranges = min(groups, MAX_RANGES_READ)
        self._chosen = Chosen(
            ranges=self._int32(*leading, ranges, 2),
            num_ranges=self._int32(*leading),
            log_counts=torch.full((*leading, groups), NO_WEIGHT, device=shape.device),
            read=torch.zeros(leading[:2], device=shape.device),
        )

    def _int32(self, *sizes: int) -> torch.Tensor:
        return torch.zeros(sizes, dtype=torch.int32, device=self._arena.shape.device)

    # --- what a subclass defines --------------------------------------------------------------

    def build(self, rows: SpeechRows) -> None:
        """Fill the table for rows whose speech has been written."""
        raise NotImplementedError

    def begin(self, rows: SpeechRows) -> None:
        """Nothing to do: no prompt is looked at."""

    def settle(self, rows: SpeechRows) -> None:
        """Nothing to do: groups stay as they were built."""

    def _scores(
        self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float
    ) -> torch.Tensor:
        """(rows, kv_heads, groups) float32, -inf for padding."""
        raise NotImplementedError

    def _wanted(self, layer: int, rows: SpeechRows) -> torch.Tensor:
        """(rows, kv_heads) int32: entries to read."""
        budget, heads = self._rule.budget, self._arena.shape.kv_heads
        return torch.tensor(
            [
                [budget.of(length)] * heads
                if budget.by_head is None
                else [budget.of_head(layer, head, length) for head in range(heads)]
                for length in rows.lengths
            ],
            dtype=torch.int32,
            device=rows.device,
        )

    # --- SpeechIndex --------------------------------------------------------------------------

    def observed_queries(self, suffix_entries: int) -> int:
        """None: the queries of decoding choose."""
        return 0

    def look(self, layer: int, rows: SpeechRows, observed: Observed) -> None:
        """Not called."""
        raise NotImplementedError

    @property
    def needs_log_sum_exp(self) -> bool:
        """No."""
        return False

    def observe(
        self,
        layer: int,
        rows: SpeechRows,
        query: torch.Tensor,
        log_sum_exp: torch.Tensor,
        scale: float,
    ) -> None:
        """Not called."""
        raise NotImplementedError

    def in_time(
        self, layer: int, rows: SpeechRows, heads: Sequence[int], by_entry: torch.Tensor
    ) -> torch.Tensor:
        """As it is: the speech lies in the order of time."""
        return by_entry

    def select(
        self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float
    ) -> HeadSelection:
        """Choose for the rows whose turn it is; the others read what they chose before."""
        if layer < self._rule.dense_layers:
            return whole_speech(rows, self._arena.shape.kv_heads)
        due = [
            number for number, step in enumerate(rows.steps) if (step - 1) % self._rule.refresh == 0
        ]
        if due:
            self._choose(
                layer, rows.only(due), query if len(due) == len(query) else query[due], scale
            )
        return self._selection(layer, rows)

    def _choose(self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float) -> None:
        scores = self._scores(layer, rows, query, scale)
        all_starts, all_ends = rows.of(self.table.starts[layer]), rows.of(self.table.ends[layer])
        wanted = self._wanted(layer, rows)[:, :, None]
        order, starts, sizes = self._best(scores, all_starts, all_ends, wanted)
        before = sizes.cumsum(dim=2, dtype=torch.int32) - sizes
        taken = (wanted - before).clamp(min=0).minimum(sizes)
        if self._rule.remainder:
            taken = taken.masked_fill(taken < sizes, 0)
        room = min(self._chosen.ranges.shape[3], order.shape[2])
        taken[:, :, room:] = 0
        first = starts[:, :, :room] + rows.first_entries[:, None, None]
        ranges = torch.stack((first, first + taken[:, :, :room]), dim=3)
        _write(rows, self._chosen.ranges[layer, :, :, :room], ranges)
        _write(rows, self._chosen.num_ranges[layer], (taken > 0).sum(dim=2, dtype=torch.int32))
        _write(rows, self._chosen.read[layer], taken.sum(dim=(1, 2)) / taken.shape[1])
        if self._rule.remainder:
            self._keep_the_rest(layer, rows, order, taken)

    def _best(
        self, scores: torch.Tensor, starts: torch.Tensor, ends: torch.Tensor, wanted: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The groups that may fill the budget, best first, with their starts and sizes.

        A few of the best are enough but for odd cases, and far faster to find than the order of
        all; whether they are enough shows a look that nobody waits for on a CPU.
        """
        groups = scores.shape[2]
        number = groups
        if scores.device.type == "cpu" and self._spare_groups:
            number = min(groups, MAX_RANGES_READ, self._spare_groups)
        while True:
            order = scores.topk(number, dim=2).indices
            first = starts.gather(2, order)
            sizes = ends.gather(2, order) - first
            enough = number in (groups, MAX_RANGES_READ)
            if enough or bool((sizes.sum(dim=2, keepdim=True) >= wanted).all()):
                return order, first, sizes
            number = min(groups, MAX_RANGES_READ, 2 * number)

    def _keep_the_rest(
        self, layer: int, rows: SpeechRows, order: torch.Tensor, taken: torch.Tensor
    ) -> None:
        """Weights of the summaries: none for groups that are read."""
        log_sizes = rows.of(self.table.log_sizes[layer])
        log_counts = rows.of(self._chosen.log_counts[layer])
        log_counts.copy_(log_sizes)
        of_rank = log_sizes.gather(2, order).masked_fill_(taken > 0, NO_WEIGHT)
        log_counts.scatter_(2, order, of_rank)
        rows.put(self._chosen.log_counts[layer], log_counts)

    def _selection(self, layer: int, rows: SpeechRows) -> HeadSelection:
        number = rows.of(self._chosen.num_ranges[layer])
        read = rows.of(self._chosen.read[layer])
        summaries = None
        if self._rule.remainder:
            log_counts = rows.of(self._chosen.log_counts[layer])
            summaries = Summaries(
                keys=rows.of(self.table.keys[layer]),
                values=rows.of(self._values[layer]),
                log_counts=log_counts,
                counts=torch.full_like(number, log_counts.shape[2]),
            )
            # Every summary is scored, whether it has a weight or not.
            read = read + rows.of(self.table.numbers[layer])
        return HeadSelection(
            entries_read=read,
            head_ranges=rows.of(self._chosen.ranges[layer]),
            num_head_ranges=number,
            summaries=summaries,
        )

    def summary_ranges(self, layer: int, rows: SpeechRows) -> torch.Tensor | None:
        """The groups; those that are read stand for nothing."""
        if not self._rule.remainder or layer < self._rule.dense_layers:
            return None
        table = self.table
        spans = torch.stack((rows.of(table.starts[layer]), rows.of(table.ends[layer])), dim=3)
        weightless = rows.of(self._chosen.log_counts[layer]) == NO_WEIGHT
        spans = spans.masked_fill(weightless.unsqueeze(3), 0)
        return spans + rows.first_entries[:, None, None, None]

    @property
    def _values(self) -> torch.Tensor:
        assert self.table.values is not None
        return self.table.values


def _write(rows: SpeechRows, state: torch.Tensor, part: torch.Tensor) -> None:
    """Write a rows' part (rows, …) of a state (slots, …)."""
    if rows.are_consecutive:
        rows.of(state).copy_(part)
    else:
        state.index_copy_(0, rows.slot_index.long(), part)
