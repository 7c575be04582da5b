"""ChunkKV: whole chunks of speech are kept, by what the last prompt tokens attend to.

Source: ChunkKV (arXiv:2502.00299): consecutive chunks of 10 entries, scored by the attention of
the last prompt tokens, the best B // 10 kept; one choice for all heads of a layer (their
attention is summed), and a layer's choice is used by the next one too.

Choices: chunks of the speech alone, from its start; the short last chunk competes by the mean
over its entries, as all do (by the sum it could not win); at least one chunk is kept; the window
as SnapKV's; layers that share a choice are counted within one arena. Of equal chunks the earlier.
"""

from __future__ import annotations

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.kept import KeptIndex, after_speech
from murmur_cli.engine.policies.chunkkv import ChunkKv
from murmur_cli.engine.speech_index import SpeechRows


class ChunkKvIndex(KeptIndex):
    """The best chunks of each layer."""

    def __init__(self, rule: ChunkKv, arena: KvArena, places: int) -> None:
        most = max(rule.chunk, rule.budget.most(places))
        super().__init__(rule, arena, places, most=most, reduce="sum")
        self._options = rule

    def observed_queries(self, suffix_entries: int) -> int:
        """The window, without speech in it."""
        return after_speech(self._options.window, suffix_entries)

    def _keep(self, layer: int, row: SpeechRows, scores: torch.Tensor) -> None:
        slot = row.slots[0]
        if layer % self._options.reuse:
            self._lists[layer, slot] = self._lists[layer - 1, slot]
            self._counts[layer, slot] = self._counts[layer - 1, slot]
            return
        entries = row.lengths[0]
        number = max(1, self._rule.budget.of_layer(layer, entries) // self._options.chunk)
        kept = best_chunks(scores[0].sum(dim=0), self._options.chunk, number)
        kept = kept + row.starts[0]
        self._lists[layer, slot, :, : len(kept)] = kept.to(torch.int32)
        self._counts[layer, slot] = len(kept)


def best_chunks(scores: torch.Tensor, chunk: int, number: int) -> torch.Tensor:
    """Entries of the best chunks, ascending. scores: (entries,)."""
    entries = len(scores)
    of_chunk = torch.arange(entries, device=scores.device) // chunk
    chunks = -(-entries // chunk)
    sums = torch.zeros(chunks, device=scores.device).index_add_(0, of_chunk, scores)
    means = sums / torch.bincount(of_chunk, minlength=chunks)
    best = means.argsort(descending=True, stable=True)[:number]
    is_kept = torch.zeros(chunks, dtype=torch.bool, device=scores.device)
    is_kept[best] = True
    return is_kept[of_chunk].nonzero()[:, 0]
