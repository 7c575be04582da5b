"""Kept entries by attention that is counted while a row is decoded, too."""

from __future__ import annotations

from typing import Literal

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.kept import KeptIndex
from murmur_cli.engine.indexes.whole_speech import whole_speech
from murmur_cli.engine.policies.h2o import H2O
from murmur_cli.engine.policies.voxzip import VoxZip
from murmur_cli.engine.speech_index import HeadSelection, Observed, SpeechRows


class AccumulatedIndex(KeptIndex):
    """Reads everything and counts for `warm_up` steps, then keeps the best for good.

    No speech entry ever joins the region, so once the budget is met nothing more is dropped.
    """

    def __init__(
        self,
        rule: H2O | VoxZip,
        arena: KvArena,
        places: int,
        *,
        decay: float,
        reduce: Literal["sum", "mean", "max"],
    ) -> None:
        most = rule.budget.most(places)
        super().__init__(rule, arena, places, most=most, decay=decay, reduce=reduce)
        self._warm_up = rule.warm_up

    @property
    def needs_log_sum_exp(self) -> bool:
        """While rows warm up."""
        return self._warm_up > 0

    def settle(self, rows: SpeechRows) -> None:
        """Choose now, or after the warm-up."""
        if not self._warm_up:
            super().settle(rows)

    def select(
        self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float
    ) -> HeadSelection:
        """Everything for rows that warm up, the lists for the others."""
        chosen = super().select(layer, rows, query, scale)
        warm = [step <= self._warm_up for step in rows.steps]
        if not any(warm):
            return chosen
        assert chosen.num_indices is not None
        is_warm = torch.tensor(warm, device=rows.device)
        heads = chosen.num_indices.shape[1]
        whole = whole_speech(rows, heads)
        return HeadSelection(
            entries_read=torch.where(is_warm, whole.entries_read, chosen.entries_read),
            head_ranges=whole.head_ranges,
            num_head_ranges=is_warm[:, None].expand(-1, heads).to(torch.int32).contiguous(),
            indices=chosen.indices,
            num_indices=chosen.num_indices.masked_fill(is_warm[:, None], 0),
        )

    def observe(
        self,
        layer: int,
        rows: SpeechRows,
        query: torch.Tensor,
        log_sum_exp: torch.Tensor,
        scale: float,
    ) -> None:
        """Count the attention of rows that warm up; choose with the last of these steps."""
        warm = [number for number, step in enumerate(rows.steps) if step <= self._warm_up]
        if not warm:
            return
        part = rows.only(warm)
        self._add(
            layer, part, Observed(query[warm].unsqueeze(1), log_sum_exp[warm].unsqueeze(1), scale)
        )
        for number in warm:
            if rows.steps[number] == self._warm_up:
                slot, entries = rows.slots[number], rows.lengths[number]
                scores = self._scores[layer, slot : slot + 1, :, :entries]
                self._keep(layer, rows.only([number]), scores)
