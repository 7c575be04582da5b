"""H2O: the entries that received most attention so far are kept.

Source: H2O (arXiv:2306.14048) and its public code: the attention that an entry receives is
summed over all queries, those of the prompt first (so early entries have more terms); when there
are more entries than the budget, the ones with the least are dropped.

Choices: it chooses from the speech, and the budget counts speech entries; prompt and suffix are
kept, the output is the output rule's. So the published window of recent entries is the output
itself, and since no speech entry is ever added, the drop happens once. One list per KV head, by
the mean over its query heads (the published code is of models without groups). Where the speech
has a cache of its own (Whisper) the prompt has hardly a query that says anything: the first 16
decode steps read everything and count, then entries are dropped (`warm_up`). Entries keep their
positions.
"""

from __future__ import annotations

from typing import Literal, cast

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.accumulated import AccumulatedIndex
from murmur_cli.engine.policies.h2o import H2O
from murmur_cli.engine.speech_index import SpeechRows


class H2OIndex(AccumulatedIndex):
    """The heaviest entries of each KV head."""

    def __init__(self, rule: H2O, arena: KvArena, places: int) -> None:
        reduce = cast(Literal["sum", "mean", "max"], rule.reduce)
        super().__init__(rule, arena, places, decay=1.0, reduce=reduce)

    def observed_queries(self, suffix_entries: int) -> int:
        """All of them."""
        return 2**31

    def _keep(self, layer: int, row: SpeechRows, scores: torch.Tensor) -> None:
        self._keep_best(layer, row, scores, self._budgets(layer, row.lengths[0]))
