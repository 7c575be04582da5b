"""What a retrieval policy does where the tensors are: chooses speech entries per layer and head.

An index belongs to one arena. It is told when the speech of slots has been written, may rewrite
that region in an order that suits it, and is asked in every step and layer what each row reads.
All of its state is allocated with the arena, and one row's part of it is never used for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import torch

from murmur_kernels import GroupChoice, Summaries, TermTrace


@dataclass(frozen=True, slots=True)
class HeadSelection:
    """What the rows of one step read of the speech in one layer, per KV head.

    Attributes:
        entries_read: (rows,) float32, entries read, mean over KV heads; with `places` a state
            (slots, kv_heads) int32. Summaries, which are all read, are not in it, nor tilts.
        head_ranges, num_head_ranges, indices, num_indices, summaries: as in
            `murmur_kernels.Selection`; entries of the slot.
        places: (rows,) int32, where each row lies in all of these. None: row r at r.
        choice: made before they are read, if any; of these rows.
        trace: where terms lie in time, if a state says so; with `places`.
    """

    entries_read: torch.Tensor
    head_ranges: torch.Tensor | None = None
    num_head_ranges: torch.Tensor | None = None
    indices: torch.Tensor | None = None
    num_indices: torch.Tensor | None = None
    summaries: Summaries | None = None
    places: torch.Tensor | None = None
    choice: GroupChoice | None = None
    trace: TermTrace | None = None

    def mean_read(self) -> torch.Tensor:
        """(rows,) float32: entries and summaries read, mean over KV heads; after the choice.

        A tilt of head_dim vectors counts as half as many entries, each of which is two.
        """
        read = self.entries_read
        if self.places is None:
            assert self.summaries is None, "summaries lie in a state"
            return read
        if self.summaries is not None:
            read = read + self.summaries.counts
            if self.summaries.second_order is not None:
                read = read + self.summaries.keys.shape[3] / 2
        return read.index_select(0, self.places).float().mean(dim=1)


@dataclass(frozen=True)
class SpeechRows:
    """Rows that an index serves: where the speech of each lies, and at which step it is.

    Attributes:
        slots: arena slots, ascending.
        starts, lengths: of the speech region in the slot.
        steps: decode steps, counted from 1; 0 before the first.
        device: of the tensors made of them.
    """

    slots: tuple[int, ...]
    starts: tuple[int, ...]
    lengths: tuple[int, ...]
    steps: tuple[int, ...]
    device: torch.device

    @cached_property
    def slot_index(self) -> torch.Tensor:
        """(rows,) int32."""
        return self._int32(self.slots)

    @cached_property
    def first_entries(self) -> torch.Tensor:
        """(rows,) int32: `starts`."""
        return self._int32(self.starts)

    @cached_property
    def entries(self) -> torch.Tensor:
        """(rows,) int32: `lengths`."""
        return self._int32(self.lengths)

    @cached_property
    def fresh(self) -> tuple[bool, ...]:
        """Which rows are at their first step."""
        return tuple(step == 1 for step in self.steps)

    def due(self, refresh: int) -> tuple[bool, ...]:
        """Which rows choose in this step, if a choice holds for so many."""
        if refresh == 1:
            return (True,) * len(self.steps)
        return tuple((step - 1) % refresh == 0 for step in self.steps)

    @cached_property
    def are_consecutive(self) -> bool:
        """Whether the rows lie in slots that follow each other."""
        return self.slots == tuple(range(self.slots[0], self.slots[0] + len(self.slots)))

    def of(self, state: torch.Tensor) -> torch.Tensor:
        """The rows' part of a state (slots, …): a view where slots follow each other."""
        if self.are_consecutive:
            return state[self.slots[0] : self.slots[0] + len(self.slots)]
        return state.index_select(0, self.slot_index)

    def put(self, state: torch.Tensor, part: torch.Tensor) -> None:
        """Write back what `of` gave and has been changed since; nothing to do for a view."""
        if not self.are_consecutive:
            state.index_copy_(0, self.slot_index.long(), part)

    def only(self, numbers: Sequence[int]) -> SpeechRows:
        """Some of the rows."""
        if len(numbers) == len(self.slots):
            return self
        return SpeechRows(
            tuple(self.slots[n] for n in numbers),
            tuple(self.starts[n] for n in numbers),
            tuple(self.lengths[n] for n in numbers),
            tuple(self.steps[n] for n in numbers),
            self.device,
        )

    def _int32(self, numbers: Sequence[int]) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.int32, device=self.device)


@dataclass(frozen=True, slots=True)
class Observed:
    """Prompt queries of some rows in one layer, for policies that look at them.

    Attributes:
        query: (rows, queries, query_heads, head_dim), oldest first.
        log_sum_exp: (rows, queries, query_heads) float32, of what each query attended to.
        scale: of the attention.
        limits: (rows, queries) int32: a query saw the slot's entries below it; None: all.
    """

    query: torch.Tensor
    log_sum_exp: torch.Tensor
    scale: float
    limits: torch.Tensor | None = None


class SpeechIndex(Protocol):
    """The index of one arena; `layer` counts the arena's layers."""

    def observed_queries(self, suffix_entries: int) -> int:
        """Last prompt queries that `look` wants, of a prompt with such a suffix; 0: none."""

    @property
    def needs_log_sum_exp(self) -> bool:
        """Whether `observe` wants to be called."""

    def begin(self, rows: SpeechRows) -> None:
        """A prompt is about to be read into these slots."""

    def build(self, rows: SpeechRows) -> None:
        """The speech of these rows has been written, in all layers. May reorder it."""

    def look(self, layer: int, rows: SpeechRows, observed: Observed) -> None:
        """Prompt queries of rows whose keys of this layer are written; may come in parts."""

    def settle(self, rows: SpeechRows) -> None:
        """The prompt has been read; the speech may have been built and have served before."""

    def select(
        self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float
    ) -> HeadSelection:
        """What the rows read, once its choice is made. query: (rows, query_heads, head_dim)."""

    def summary_ranges(self, layer: int, rows: SpeechRows) -> torch.Tensor | None:
        """Entries of the slot that each summary of the last selection stands for.

        (rows, kv_heads, S, 2) int32; None if it has none. For traces of the attention.
        """

    def observe(
        self,
        layer: int,
        rows: SpeechRows,
        query: torch.Tensor,
        log_sum_exp: torch.Tensor,
        scale: float,
    ) -> None:
        """What the rows attended to. log_sum_exp: (rows, query_heads), of all that was read."""

    def in_time(
        self, layer: int, rows: SpeechRows, heads: Sequence[int], by_entry: torch.Tensor
    ) -> torch.Tensor:
        """What lies at entries of slots (rows, heads, capacity), with the speech in time's order.

        heads: KV head of each.
        """
