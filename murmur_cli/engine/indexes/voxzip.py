"""VoxZip's second stage: decayed accumulated attention.

Source: "VoxZip" (text at hand; no code): A <- 0.95 A + attention of the newest query, per layer;
the first 4 entries, the most recent fifth of the budget and the best of the rest are kept.

Choices: it chooses from the speech, and the budget counts speech entries; the published sinks
are prompt tokens and the recent entries output, which are always read here, so all of the budget
goes to the best. The paper's one vector per layer is the sum over all query heads
(`scope=kv_head`: the mean over the query heads of each KV head). The recursion begins with the
last 64 prompt queries. As no speech entry is ever added, the drop happens once; where the speech
has a cache of its own it happens after 16 decode steps that read everything (`warm_up`). Entries
keep their positions.

The first stage changes the input embeddings: `asr/speech_llm/speech_groups.py`.
"""

from __future__ import annotations

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.accumulated import AccumulatedIndex
from murmur_cli.engine.policies.voxzip import VoxZip
from murmur_cli.engine.speech_index import SpeechRows


class VoxZipIndex(AccumulatedIndex):
    """The best entries of each layer or KV head."""

    def __init__(self, rule: VoxZip, arena: KvArena, places: int) -> None:
        by_layer = rule.scope == "layer"
        super().__init__(
            rule, arena, places, decay=rule.decay, reduce="sum" if by_layer else "mean"
        )
        self._by_layer = by_layer
        self._window = rule.window

    def observed_queries(self, suffix_entries: int) -> int:
        """The window, with speech in it where the suffix is short."""
        return self._window

    def _keep(self, layer: int, row: SpeechRows, scores: torch.Tensor) -> None:
        entries = row.lengths[0]
        if not self._by_layer:
            self._keep_best(layer, row, scores, self._budgets(layer, entries))
            return
        scores = scores.sum(dim=1, keepdim=True).expand_as(scores)
        budget = self._rule.budget.of_layer(layer, entries)
        self._keep_best(layer, row, scores, [budget] * scores.shape[1])
