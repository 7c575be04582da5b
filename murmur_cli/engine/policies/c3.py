"""Options of C³ (Cluster-Compete-Compete); the index is `engine/indexes/c3.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from murmur_cli.engine.policies.kv_budget import KvBudget
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import GroupRule, require_choice, require_share
from murmur_cli.errors import UsageError

MAX_REACH = 10.0


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
        split: which node is split next until the first frontier is full: 'size', that with most
            entries, or 'spread', that with the largest sum of squared distances from its mean.
        second_order: summaries stand for keys that differ: weights by their spread, values that
            lean to the query (`murmur_kernels.SecondOrder`); with a remainder, and without
            operations. Ranks by mass then count the spread too.
            Where it is not given it steps back if one of these is given otherwise.
        reach: with `second_order`, ranks by mass add so many standard deviations of the scores of
            a node's keys: a node may hold an entry that its mean does not show. Steps back, too.
        least: entries that are read of a row whatever the share of the budget; a budget that is a
            number, or shares by head, are taken as they are.

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
    split: str = "size"
    second_order: bool = False
    reach: float = 0.0
    least: int = 1

    @property
    def moves(self) -> bool:
        """Whether nodes are split and merged."""
        return self.operations > 0

    def least_of(self, entries: int) -> int:
        """Entries that a head of a row of so many reads; the mean where heads differ."""
        least = min(self.least, entries) if self.budget.share is not None else 1
        return max(least, self.budget.of(entries))

    def reads_all(self, entries: int) -> bool:
        """Whether the budget or `least` covers all."""
        is_short = self.budget.share is not None and entries <= self.least
        return is_short or self.budget.covers(entries)

    def most_read(self, entries: int) -> int:
        """The largest budget of a head, or `least`."""
        return min(entries, max(self.least_of(entries), self.budget.most(entries)))

    def implied_by(self, given: Mapping[str, object]) -> dict[str, object]:
        """`second_order` and `reach` step back where what they need is given otherwise."""
        implied: dict[str, object] = {}
        remainder = given.get("remainder", self.remainder)
        if "second_order" not in given and (
            not remainder or given.get("operations", self.operations)
        ):
            implied["second_order"] = False
        second_order = {**given, **implied}.get("second_order", self.second_order)
        if "reach" not in given and not (second_order and given.get("rank", self.rank) == "mass"):
            implied["reach"] = 0.0
        return implied

    def __post_init__(self) -> None:
        self.check_groups()
        require_at_least("granularity", self.granularity, 1)
        require_at_least("leaf", self.leaf, 1)
        require_at_least("iterations", self.iterations, 1)
        require_at_least("seed", self.seed, 0)
        require_at_least("least", self.least, 1)
        require_at_least("operations", self.operations, 0)
        require_choice("metric", self.metric, ("cosine", "euclidean"))
        require_choice("rank", self.rank, ("cosine", "dot", "mass"))
        require_share("decay", self.decay)
        require_choice("split", self.split, ("size", "spread"))
        if self.second_order and not self.remainder:
            raise UsageError(
                "--evict-opt second_order=true: it is of summaries; give remainder=true, or "
                "second_order=false"
            )
        if self.second_order and self.operations:
            raise UsageError(
                "--evict-opt second_order=true: it is of nodes that stay; give operations=0, or "
                "second_order=false"
            )
        if not 0 <= self.reach <= MAX_REACH:
            raise UsageError(f"--evict-opt reach={self.reach:g}: give 0 to {MAX_REACH:g}")
        if self.reach and not (self.second_order and self.rank == "mass"):
            raise UsageError(
                f"--evict-opt reach={self.reach:g}: it is added to ranks by mass to second order; "
                "give rank=mass and second_order=true, or reach=0"
            )

    @classmethod
    def with_remainder(cls) -> C3:
        """`c3r` as it reads a fifth: 8 % of the entries, and one summary for ten.

        Measured on Whisper base over real meetings and on a small SpeechLLM. The frontier stays as
        it starts: merged nodes grow to hundreds of entries, whose mean is nobody's, and the error
        grows with every step.
        """
        return cls(
            budget=KvBudget(share=0.08),
            remainder=True,
            granularity=10,
            leaf=8,
            metric="euclidean",
            rank="mass",
            operations=0,
            split="spread",
            second_order=True,
            reach=1.0,
            least=64,
        )
