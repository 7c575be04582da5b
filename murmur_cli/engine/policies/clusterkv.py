"""Options of ClusterKV; the index is `engine/indexes/clusterkv.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import GroupRule, require_choice


@dataclass(frozen=True, slots=True)
class ClusterKv(GroupRule):
    """Flat clusters of keys, ranked by the product of query and centroid.

    Attributes:
        cluster: speech entries per cluster, on average (paper: 80).
        iterations: of k-means at most (published code: 20).
        reduce: over the query heads of a KV head, 'mean' or 'max'.

    Raises:
        UsageError: a value outside its limits.
    """

    cluster: int = 80
    iterations: int = 20
    reduce: str = "mean"

    def __post_init__(self) -> None:
        self.check_groups()
        require_at_least("cluster", self.cluster, 1)
        require_at_least("iterations", self.iterations, 1)
        require_choice("reduce", self.reduce, ("max", "mean"))
