"""Speech entries that are chosen once, by the attention of prompt queries, and kept.

What SnapKV, PyramidKV, ChunkKV, H2O and VoxZip's second stage have in common: scores of entries
are summed up from attention, and lists of entries are made of them when the prompt has been read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.speech_index import HeadSelection, Observed, SpeechRows
from murmur_kernels import score_accumulate, topk_select


class KeptIndex:
    """A SpeechIndex with one list for each (layer, slot, KV head).

    Args:
        rule: with the budget.
        arena: whose speech it is.
        places: most speech entries of a row.
        most: longest list.
        decay: of scores with every query.
        reduce: of the attention of the query heads of a KV head.
    """

    def __init__(
        self,
        rule: RetrievalRule,
        arena: KvArena,
        places: int,
        *,
        most: int,
        decay: float = 1.0,
        reduce: Literal["sum", "mean", "max"] = "mean",
    ) -> None:
        self._rule = rule
        self._arena = arena
        self._decay = decay
        self._reduce: Literal["sum", "mean", "max"] = reduce
        shape = arena.shape
        leading = (shape.layers, shape.slots, shape.kv_heads)
        self._scores = torch.zeros(*leading, places, device=shape.device)
        self._lists = torch.zeros(
            *leading, min(most, places), dtype=torch.int32, device=shape.device
        )
        self._counts = torch.zeros(leading, dtype=torch.int32, device=shape.device)

    # --- what a subclass defines --------------------------------------------------------------

    def observed_queries(self, suffix_entries: int) -> int:
        """Last prompt queries that count."""
        raise NotImplementedError

    def _keep(self, layer: int, row: SpeechRows, scores: torch.Tensor) -> None:
        """Fill the lists of one row from its scores (1, kv_heads, entries)."""
        raise NotImplementedError

    # --- SpeechIndex --------------------------------------------------------------------------

    @property
    def needs_log_sum_exp(self) -> bool:
        """No: what was chosen stays."""
        return False

    def begin(self, rows: SpeechRows) -> None:
        """Forget the scores of earlier prompts."""
        self._scores[:, rows.slot_index.long()] = 0

    def build(self, rows: SpeechRows) -> None:
        """Nothing: the speech stays as it lies."""

    def look(self, layer: int, rows: SpeechRows, observed: Observed) -> None:
        """Add the attention of prompt queries to the scores."""
        self._add(layer, rows, observed)

    def settle(self, rows: SpeechRows) -> None:
        """Choose."""
        for number, (slot, entries) in enumerate(zip(rows.slots, rows.lengths, strict=True)):
            row = rows.only([number])
            for layer in range(self._arena.shape.layers):
                self._keep(layer, row, self._scores[layer, slot : slot + 1, :, :entries])

    def select(
        self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float
    ) -> HeadSelection:
        """The lists."""
        counts = rows.of(self._counts[layer])
        return HeadSelection(
            entries_read=counts.float().mean(dim=1),
            indices=rows.of(self._lists[layer]),
            num_indices=counts,
        )

    def summary_ranges(self, layer: int, rows: SpeechRows) -> torch.Tensor | None:
        """None: entries are read or they are not."""
        return None

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

    # --- parts --------------------------------------------------------------------------------

    def _add(self, layer: int, rows: SpeechRows, observed: Observed) -> None:
        scores = rows.of(self._scores[layer])
        score_accumulate(
            observed.query,
            self._arena.keys[layer],
            rows.slot_index,
            observed.log_sum_exp,
            scores,
            rows.entries[:, None].expand(scores.shape[:2]).contiguous(),
            scale=observed.scale,
            decay=self._decay,
            reduce=self._reduce,
            starts=rows.first_entries,
            limits=observed.limits,
        )
        rows.put(self._scores[layer], scores)

    def _budgets(self, layer: int, entries: int) -> list[int]:
        """Of each KV head of a row with so many entries."""
        budget = self._rule.budget
        return [budget.of_head(layer, head, entries) for head in range(self._arena.shape.kv_heads)]

    def _keep_best(
        self, layer: int, row: SpeechRows, scores: torch.Tensor, budgets: Sequence[int]
    ) -> None:
        """The best entries of each KV head, so many as it has; of equal ones the earlier."""
        slot = row.slots[0]
        heads = scores.shape[1]
        topk_select(
            scores.contiguous(),
            row.entries[:, None].expand(1, heads).contiguous(),
            torch.tensor([budgets], dtype=torch.int32, device=row.device),
            self._lists[layer, slot : slot + 1],
            self._counts[layer, slot : slot + 1],
            starts=row.first_entries,
        )


def after_speech(window: int, suffix_entries: int) -> int:
    """An observation window that holds no speech: at least the last query, which sees it all."""
    return min(window, max(1, suffix_entries))
