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
from dataclasses import dataclass, replace

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.group_table import Chosen, GroupTable
from murmur_cli.engine.indexes.whole_speech import whole_speech
from murmur_cli.engine.policies.retrieval import GroupRule
from murmur_cli.engine.speech_index import HeadSelection, Observed, SpeechRows
from murmur_kernels import (
    GROUPS_UNIT,
    NO_WEIGHT,
    GroupChoice,
    GroupRanking,
    GroupState,
    SecondOrder,
    Summaries,
    TermTrace,
)

MAX_RANGES_READ = 128
"""Groups that a KV head reads in one step at most; `murmur_kernels` has room for no more."""


@dataclass(frozen=True, slots=True)
class _LayerGroups:
    """Views of one layer: for the choice, and what is read of it, without places and choice."""

    state: GroupState
    read: HeadSelection


class GroupIndex:
    """A SpeechIndex over groups; a subclass makes the groups and says how they rank.

    Args:
        rule: the options.
        arena: whose speech it is.
        groups: most groups of a row.
        ranking: of the groups.
        with_keys: whether the mean keys of the table rank; else a subclass has what ranks.
        second_order: whether a subclass fills that part of the table.
    """

    def __init__(
        self,
        rule: GroupRule,
        arena: KvArena,
        groups: int,
        ranking: GroupRanking,
        *,
        with_keys: bool = True,
        second_order: bool = False,
    ) -> None:
        self._rule = rule
        self._arena = arena
        self._groups = -(-groups // GROUPS_UNIT) * GROUPS_UNIT
        self._ranking = ranking
        self.table = GroupTable.empty(
            arena,
            self._groups,
            with_keys=with_keys or rule.remainder,
            with_values=rule.remainder,
            second_order=second_order,
        )
        shape = arena.shape
        leading = (shape.layers, shape.slots, shape.kv_heads)
        log_counts = None
        if rule.remainder:
            log_counts = torch.full((*leading, self._groups), NO_WEIGHT, device=shape.device)
        self._chosen = Chosen(
            ranges=self._int32(*leading, min(self._groups, MAX_RANGES_READ), 2),
            num_ranges=self._int32(*leading),
            entries_read=self._int32(*leading),
            log_counts=log_counts,
            budgets=self._int32(*leading),
            first_entries=self._int32(shape.slots),
        )
        self._layers: dict[int, _LayerGroups] = {}

    def _int32(self, *sizes: int) -> torch.Tensor:
        return torch.zeros(sizes, dtype=torch.int32, device=self._arena.shape.device)

    # --- what a subclass defines --------------------------------------------------------------

    def build(self, rows: SpeechRows) -> None:
        """Fill the table for rows whose speech has been written."""
        raise NotImplementedError

    def settle(self, rows: SpeechRows) -> None:
        """Nothing to do: groups stay as they were built."""

    def _prepare(self, layer: int, rows: SpeechRows) -> None:
        """Nothing to do before a choice: groups stay as they were built."""

    def _low_high(self, layer: int) -> tuple[torch.Tensor, torch.Tensor | None]:
        """What ranks the groups of a layer: `low` and `high` of `GroupState`."""
        return self._keys[layer], None

    def _averages(self, layer: int) -> torch.Tensor | None:
        """Running averages of the scores of a layer; None: nobody asks for them."""
        return None

    def _permutation(self, layer: int) -> torch.Tensor | None:
        """The order of storage, (slots, kv_heads, places); None: that of time."""
        return None

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

    def begin(self, rows: SpeechRows) -> None:
        """Note where the speech lies and how much of it is read; no prompt is looked at."""
        at = rows.slot_index.long()
        self._chosen.first_entries[at] = rows.first_entries
        for layer in range(self._arena.shape.layers):
            self._chosen.budgets[layer, at] = self._wanted(layer, rows)

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
        """A choice for the rows whose turn it is; the others read what they chose before."""
        if layer < self._rule.dense_layers:
            return whole_speech(rows, self._arena.shape.kv_heads)
        due = rows.due(self._rule.refresh)
        choice = None
        if any(due):
            self._prepare(layer, rows.only([n for n, is_due in enumerate(due) if is_due]))
            choice = GroupChoice(self._layer(layer).state, self._ranking, due, rows.fresh)
        return replace(self._layer(layer).read, places=rows.slot_index, choice=choice)

    def _layer(self, layer: int) -> _LayerGroups:
        """The layer's part of the tables; made when it is first asked for."""
        if layer not in self._layers:
            self._layers[layer] = self._views(layer)
        return self._layers[layer]

    def _views(self, layer: int) -> _LayerGroups:
        table, chosen, summaries = self.table, self._chosen, None
        low, high = self._low_high(layer)
        starts, ends = table.starts[layer], table.ends[layer]
        log_counts = None if chosen.log_counts is None else chosen.log_counts[layer]
        state = GroupState(
            starts=starts,
            ends=ends,
            log_sizes=table.log_sizes[layer],
            low=low,
            high=high,
            budgets=chosen.budgets[layer],
            first_entries=chosen.first_entries,
            averages=self._averages(layer),
            ranges=chosen.ranges[layer],
            num_ranges=chosen.num_ranges[layer],
            entries_read=chosen.entries_read[layer],
            log_counts=log_counts,
        )
        spread = table.second_order
        if spread is not None:
            spread = SecondOrder(spread.deviations[layer], spread.tilts[layer])
            if self._ranking.by_mass:
                state = replace(state, deviations=spread.deviations)
        trace = TermTrace(chosen.first_entries, self._permutation(layer))
        if log_counts is not None:
            # Of all groups; those that are read have no weight.
            summaries = Summaries(
                self._keys[layer], self._values[layer], log_counts, table.counts[layer], spread
            )
            trace = replace(trace, starts=starts, ends=ends)
        read = HeadSelection(
            entries_read=state.entries_read,
            head_ranges=state.ranges,
            num_head_ranges=state.num_ranges,
            summaries=summaries,
            trace=trace,
        )
        return _LayerGroups(state, read)

    def summary_ranges(self, layer: int, rows: SpeechRows) -> torch.Tensor | None:
        """The groups; those that are read stand for nothing."""
        if self._chosen.log_counts is None or layer < self._rule.dense_layers:
            return None
        table = self.table
        spans = torch.stack((rows.of(table.starts[layer]), rows.of(table.ends[layer])), dim=3)
        weightless = rows.of(self._chosen.log_counts[layer]) == NO_WEIGHT
        spans = spans.masked_fill(weightless.unsqueeze(3), 0)
        return spans + rows.first_entries[:, None, None, None]

    @property
    def _keys(self) -> torch.Tensor:
        assert self.table.keys is not None
        return self.table.keys

    @property
    def _values(self) -> torch.Tensor:
        assert self.table.values is not None
        return self.table.values
