"""Options of PyramidKV; the index is `engine/indexes/pyramidkv.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.policies.snapkv import check_observed
from murmur_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class PyramidKv(RetrievalRule):
    """SnapKV's choice with a budget that falls from layer to layer; `budget` is the mean.

    Attributes:
        window, kernel, pooling, reduce: as SnapKV's.
        beta: the last layer's budget is the mean one divided by this (published: 20).

    Raises:
        UsageError: a value outside its limits.
    """

    window: int = 64
    kernel: int = 5
    pooling: str = "avg"
    reduce: str = "mean"
    beta: int = 20

    def most_read(self, entries: int) -> int:
        """The first layer's, up to twice the mean."""
        return min(entries, 2 * self.budget.most(entries))

    def __post_init__(self) -> None:
        check_observed(self.window, self.kernel, self.pooling, self.reduce)
        require_at_least("beta", self.beta, 1)
        if self.budget.by_head is not None:
            raise UsageError(
                "--kv-budget: pyramidkv shares its budget out over the layers by itself; give "
                "entries, such as 256, or a share, such as 0.25"
            )
