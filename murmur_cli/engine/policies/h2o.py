"""Options of H2O; the index is `engine/indexes/h2o.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import (
    RetrievalRule,
    require_choice,
    require_no_warm_up,
)

CROSS_WARM_UP = 16
"""Steps of a model whose prompt does not attend to the speech before it: its few prompt tokens
say little of what the transcript will need."""


@dataclass(frozen=True, slots=True)
class H2O(RetrievalRule):
    """Heavy hitters: the entries that received most attention so far.

    Attributes:
        warm_up: decode steps that read everything and count before entries are dropped.
        reduce: over the query heads of a KV head: 'mean', 'max' or 'sum'.

    Raises:
        UsageError: a value outside its limits.
    """

    warm_up: int = 0
    reduce: str = "mean"

    def __post_init__(self) -> None:
        require_at_least("warm_up", self.warm_up, 0)
        require_choice("reduce", self.reduce, ("mean", "max", "sum"))

    def check_offload(self) -> None:
        """A warm-up reads everything."""
        require_no_warm_up("h2o", self.warm_up)

    @classmethod
    def defaults_for(cls, rates: RequestRates) -> H2O:
        """A warm-up where the prompt is not part of the speech's cache."""
        return cls(warm_up=0 if rates.speech_is_causal else CROSS_WARM_UP)
