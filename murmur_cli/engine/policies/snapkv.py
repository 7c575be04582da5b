"""Options of SnapKV; the index is `engine/indexes/snapkv.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import RetrievalRule, require_choice
from murmur_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class SnapKv(RetrievalRule):
    """What the last prompt tokens attend to is kept, once and for all.

    Attributes:
        window: last prompt tokens that are observed; no more than stand after the speech.
        kernel: entries that the scores are pooled over, odd (published: 5).
        pooling: 'avg' or 'max'.
        reduce: over the query heads of a KV head, before pooling: 'mean' or 'max'.

    Raises:
        UsageError: a value outside its limits.
    """

    window: int = 64
    kernel: int = 5
    pooling: str = "avg"
    reduce: str = "mean"

    def __post_init__(self) -> None:
        check_observed(self.window, self.kernel, self.pooling, self.reduce)


def check_observed(window: int, kernel: int, pooling: str, reduce: str) -> None:
    """Raise a UsageError for a value outside its limits."""
    require_at_least("window", window, 1)
    require_at_least("kernel", kernel, 1)
    if kernel % 2 == 0:
        raise UsageError(f"--evict-opt kernel={kernel}: give an odd number")
    require_choice("pooling", pooling, ("avg", "max"))
    require_choice("reduce", reduce, ("mean", "max"))
