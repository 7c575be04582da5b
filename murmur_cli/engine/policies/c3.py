"""Options of C³ (Cluster-Compete-Compete); the index is `engine/indexes/c3.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.kv_budget import KvBudget
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import GroupRule, require_choice, require_share


@dataclass(frozen=True, slots=True)
class C3(GroupRule):
    """C³, and with `remainder` C³ with remainder (`c3r`).

    Attributes:
        granularity: speech entries per active node, on average (published: 16).
        leaf: entries that a leaf of the tree may hold.
        iterations: of two-means at each split (published: 8).
        seed: of the first centroids (published: 0).
        metric: of two-means, 'cosine' or 'euclidean'.
        rank: of active nodes: 'cosine' (published), 'dot', or 'mass', the node's estimated share
            of the softmax.
        decay: of the running averages that steer splits and merges (published: 0.5).
        operations: paired splits and merges a step (published: 2).

    Raises:
        UsageError: a value outside its limits.
    """

    granularity: int = 16
    leaf: int = 2
    iterations: int = 8
    seed: int = 0
    metric: str = "cosine"
    rank: str = "cosine"
    decay: float = 0.5
    operations: int = 2

    @property
    def moves(self) -> bool:
        """Whether nodes are split and merged."""
        return self.operations > 0

    def __post_init__(self) -> None:
        self.check_groups()
        require_at_least("granularity", self.granularity, 1)
        require_at_least("leaf", self.leaf, 1)
        require_at_least("iterations", self.iterations, 1)
        require_at_least("seed", self.seed, 0)
        require_at_least("operations", self.operations, 0)
        require_choice("metric", self.metric, ("cosine", "euclidean"))
        require_choice("rank", self.rank, ("cosine", "dot", "mass"))
        require_share("decay", self.decay)

    @classmethod
    def with_remainder(cls) -> C3:
        """`c3r` as it reads a quarter: an eighth of the entries, and one summary for eight.

        Measured on Whisper base over real meetings. The frontier stays as it starts: merged nodes
        grow to hundreds of entries, whose mean is nobody's, and the error grows with every step.
        Three iterations give trees as good as eight.
        """
        return cls(
            budget=KvBudget(share=0.125),
            remainder=True,
            granularity=8,
            leaf=8,
            iterations=3,
            rank="mass",
            operations=0,
        )
