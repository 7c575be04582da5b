"""A retrieval policy's index over an arena of given keys and values, without a model."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.engine.arena import ArenaShape, KvArena
from murmur_cli.engine.indexes.registry import speech_index
from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.retrieval_step import RetrievalStep
from murmur_cli.engine.speech_index import HeadSelection, Observed, SpeechRows
from murmur_kernels import choose_groups

CPU = torch.device("cpu")
RATES = RequestRates(50.0, 7.0, 30.0)


class IndexedSpeech:
    """Rows of one speech each, in slots of their own, all layers alike.

    keys, values: (rows, kv_heads, entries, head_dim). Rows lie in slots 1, 2, … of an arena whose
    other entries are NaN; the speech of each begins at entry `start`. prompt: the observed prompt
    queries (rows, queries, query_heads, head_dim), which see all of the speech and nothing else.
    """

    def __init__(
        self,
        name: str,
        keys: torch.Tensor,
        values: torch.Tensor | None = None,
        *,
        layers: int = 1,
        start: int = 3,
        prompt: torch.Tensor | None = None,
        dtype: torch.dtype = torch.float32,
        **options: object,
    ) -> None:
        rows, heads, entries, dim = keys.shape
        texts = {key: str(value) for key, value in options.items()}
        rule = build_policy(name, texts, RATES).speech
        assert isinstance(rule, RetrievalRule)
        shape = ArenaShape(layers, rows + 2, heads, start + entries + 2, dim, dtype, CPU)
        self.arena = KvArena(shape)
        self.arena.keys.fill_(torch.nan)
        self.arena.values.fill_(torch.nan)
        region = slice(start, start + entries)
        self.arena.keys[:, 1 : rows + 1, :, region] = keys
        self.arena.values[:, 1 : rows + 1, :, region] = keys if values is None else values
        self.index = speech_index(rule, self.arena, entries)
        self._entries, self._start, self._count = entries, start, rows
        self.index.begin(self.rows(0))
        if prompt is not None:
            group = prompt.shape[2] // heads
            wide = keys.repeat_interleave(group, dim=1)
            scores = torch.einsum("rqhd,rhnd->rqhn", prompt, wide)
            for layer in range(layers):
                observed = Observed(prompt, scores.logsumexp(dim=3), 1.0)
                self.index.look(layer, self.rows(0), observed)
        self.index.build(self.rows(0))
        self.index.settle(self.rows(0))

    def rows(self, step: int) -> SpeechRows:
        """All rows at a decode step."""
        count = self._count
        return SpeechRows(
            tuple(range(1, count + 1)),
            (self._start,) * count,
            (self._entries,) * count,
            (step,) * count,
            CPU,
        )

    def select(self, query: torch.Tensor, step: int = 1, layer: int = 0) -> HeadSelection:
        """What a step reads; query (rows, query_heads, head_dim)."""
        rows = self.rows(step)
        chosen = self.index.select(layer, rows, query, 1.0)
        if chosen.choice is not None:
            choose_groups(query, chosen.choice, rows.slot_index, 1.0)
        return chosen

    def kept(self, query: torch.Tensor, step: int = 1, layer: int = 0) -> list[list[set[int]]]:
        """Entries of the speech, in the order of time, that each row and KV head reads."""
        return self.entries_of(self.select(query, step, layer), layer)

    def entries_of(self, chosen: HeadSelection, layer: int = 0) -> list[list[set[int]]]:
        """Entries of the speech, in the order of time, that a selection holds."""
        heads, capacity = self.arena.shape.kv_heads, self.arena.shape.capacity
        marks = torch.zeros(self._count, heads, capacity)
        for row in range(self._count):
            for head in range(heads):
                for entry in _listed(chosen, row, head):
                    assert marks[row, head, entry] == 0, "an entry is selected twice"
                    marks[row, head, entry] = 1
        in_time = self.index.in_time(layer, self.rows(1), range(heads), marks)
        return [
            [set((marked.nonzero()[:, 0] - self._start).tolist()) for marked in row]
            for row in in_time
        ]

    def attend(
        self, query: torch.Tensor, step: int = 1, layer: int = 0, probe_heads: Sequence[int] = ()
    ) -> tuple[torch.Tensor, torch.Tensor | None, tuple[float | None, ...]]:
        """A whole step of one layer: the mix, probabilities of probes, entries read."""
        rows = self.rows(step)
        retrieval = RetrievalStep(rows.slots, [()] * self._count, range(self._count), rows)
        keys, values = self.arena.keys[layer], self.arena.values[layer]
        mixed, seen = retrieval.attend(
            self.index, layer, query, keys, values, probe_heads=probe_heads
        )
        return mixed, seen, retrieval.speech_read()


def _listed(chosen: HeadSelection, row: int, head: int) -> list[int]:
    found: list[int] = []
    if chosen.places is not None:
        row = int(chosen.places[row])
    if chosen.head_ranges is not None and chosen.num_head_ranges is not None:
        number = int(chosen.num_head_ranges[row, head])
        for start, end in chosen.head_ranges[row, head, :number].tolist():
            found.extend(range(start, end))
    if chosen.indices is not None and chosen.num_indices is not None:
        found.extend(chosen.indices[row, head, : int(chosen.num_indices[row, head])].tolist())
    return found
