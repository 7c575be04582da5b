"""Measures how far the attention of each head spreads over the speech; reads everything.

No policy of `--evict`: `murmur calibrate` decodes with it, and the text is that of 'none'.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.types.kv_shares import HeadSpread


@dataclass(slots=True)
class SpreadRecord:
    """What was measured so far, by layer of the model."""

    _sums: dict[int, list[list[float]]] = field(default_factory=dict)
    _steps: dict[int, int] = field(default_factory=dict)

    def add(self, layer: int, log_shares: Sequence[float], masses: Sequence[float]) -> None:
        """One row's step: H - ln N, and the mass, of each KV head of a layer."""
        sums = self._sums.setdefault(layer, [[0.0, 0.0] for _ in log_shares])
        for of_head, log_share, mass in zip(sums, log_shares, masses, strict=True):
            of_head[0] += log_share
            of_head[1] += mass
        self._steps[layer] = self._steps.get(layer, 0) + 1

    @property
    def steps(self) -> int:
        """Row-steps that were measured."""
        return max(self._steps.values(), default=0)

    def layer(self, layer: int) -> tuple[HeadSpread, ...]:
        """The KV heads of a layer; empty if it was not measured."""
        steps = self._steps.get(layer, 0)
        return tuple(
            HeadSpread(math.exp(log_share / steps), mass / steps)
            for log_share, mass in self._sums.get(layer, ())
        )


@dataclass(frozen=True, slots=True)
class AttentionSpread(RetrievalRule):
    """Its index reads all of the speech and writes what it sees into `record`.

    layers: of the model that the index sees, in its order; empty: all.
    """

    record: SpreadRecord = field(default_factory=SpreadRecord)
    layers: tuple[int, ...] = ()

    def reads_all(self, entries: int) -> bool:
        """No: the index is to see each query."""
        return False

    def of_layers(self, layers: Sequence[int]) -> AttentionSpread:
        """The same record, under the numbers of these layers."""
        return replace(self, layers=tuple(layers))
