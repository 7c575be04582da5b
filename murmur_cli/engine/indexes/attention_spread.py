"""Entropy of the attention over the speech, by layer and KV head; reads everything.

For each query head i of a KV head, p_ij = exp(scale * q_i . k_j - lse_i) over the N speech
entries; the KV head's attention is the sum over its query heads, divided by its mass: what the
head's one budget has to serve. Its entropy H is noted as H - ln N.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.whole_speech import whole_speech
from murmur_cli.engine.policies.attention_spread import AttentionSpread
from murmur_cli.engine.speech_index import HeadSelection, Observed, SpeechRows


class AttentionSpreadIndex:
    """A SpeechIndex that chooses everything and notes what each step attends to."""

    def __init__(self, rule: AttentionSpread, arena: KvArena, places: int) -> None:
        self._rule = rule
        self._arena = arena

    def observed_queries(self, suffix_entries: int) -> int:
        """None: decode steps are measured."""
        return 0

    @property
    def needs_log_sum_exp(self) -> bool:
        """Yes."""
        return True

    def begin(self, rows: SpeechRows) -> None:
        """Nothing to do."""

    def build(self, rows: SpeechRows) -> None:
        """Nothing to do: the speech stays as it lies."""

    def look(self, layer: int, rows: SpeechRows, observed: Observed) -> None:
        """Not called."""
        raise NotImplementedError

    def settle(self, rows: SpeechRows) -> None:
        """Nothing to do."""

    def select(
        self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float
    ) -> HeadSelection:
        """All of the speech."""
        return whole_speech(rows, self._arena.shape.kv_heads)

    def summary_ranges(self, layer: int, rows: SpeechRows) -> torch.Tensor | None:
        """None: there are no summaries."""
        return None

    def observe(
        self,
        layer: int,
        rows: SpeechRows,
        query: torch.Tensor,
        log_sum_exp: torch.Tensor,
        scale: float,
    ) -> None:
        """Note the spread of every row."""
        heads = self._arena.shape.kv_heads
        group = query.shape[1] // heads
        number = self._rule.layers[layer] if self._rule.layers else layer
        for row, (slot, start, entries) in enumerate(
            zip(rows.slots, rows.starts, rows.lengths, strict=True)
        ):
            keys = self._arena.keys[layer, slot, :, start : start + entries].float()
            own = query[row].view(heads, group, -1).float()
            scores = own @ keys.mT * scale - log_sum_exp[row].view(heads, group, 1)
            seen = scores.exp().sum(dim=1)
            mass = seen.sum(dim=1)
            shares = seen / mass.clamp(min=torch.finfo(mass.dtype).tiny).unsqueeze(1)
            spread = torch.special.entr(shares).sum(dim=1) - math.log(entries)
            self._rule.record.add(number, spread.tolist(), (mass / group).tolist())

    def in_time(
        self, layer: int, rows: SpeechRows, heads: Sequence[int], by_entry: torch.Tensor
    ) -> torch.Tensor:
        """As it is: the speech lies in the order of time."""
        return by_entry
