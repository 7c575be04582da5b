"""Speech policies whose choice depends on keys and queries, layer by layer and head by head.

A rule of this kind says how much may be read; which entries these are is found where the tensors
are, by the index in `engine/indexes` that belongs to the rule's class.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Self

from murmur_cli.engine.policies.base import EvictionPolicy, FocusNeed, RequestRates
from murmur_cli.engine.policies.kv_budget import KvBudget
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.regions import Range, RowView, merge_ranges
from murmur_cli.errors import UsageError

DEFAULT_BUDGET = KvBudget(share=0.25)


@dataclass(frozen=True, slots=True)
class RetrievalRule:
    """Reads at most `budget` speech entries per KV head, chosen by an index.

    A row with no more entries than that is read whole, as without a policy.

    Attributes:
        budget: entries per KV head that are read one by one. Summaries come on top of it.
    """

    budget: KvBudget = DEFAULT_BUDGET

    def select_speech(self, row: RowView) -> tuple[Range, ...] | None:
        """All entries if the budget covers them; else None, the index chooses."""
        n = row.speech_entries
        return merge_ranges((0, n)) if self.reads_all(n) else None

    def reads_all(self, entries: int) -> bool:
        """Whether a row with so many speech entries is read whole, without the index."""
        return self.budget.covers(entries)

    @property
    def has_index(self) -> bool:
        """Whether anything is ever chosen: without it no index is made."""
        return True

    @property
    def moves(self) -> bool:
        """Whether what groups stand for changes between steps."""
        return False

    def most_read(self, entries: int) -> int:
        """Most entries that a KV head reads of a row that is not read whole."""
        return min(entries, self.budget.most(entries))

    def check_offload(self) -> None:
        """Raise a UsageError if a step may read all of the speech, which is not to be there."""

    def check_given(self, given: Set[str]) -> None:
        """Raise a UsageError if an option was given that another one makes useless."""

    def check_for(self, rates: RequestRates) -> None:
        """Raise a UsageError for an option that a backend of these rates cannot have."""

    def of_layers(self, layers: Sequence[int]) -> Self:
        """The rule for an index over some layers of the model, which it counts from 0."""
        return replace(self, budget=self.budget.of_layers(layers))

    @property
    def focus_need(self) -> FocusNeed | None:
        """None: the index sees each query itself."""
        return None


@dataclass(frozen=True, slots=True)
class GroupRule(RetrievalRule):
    """Entries are ranked in groups, and groups are read best first.

    Attributes:
        remainder: groups that are not read stay in the softmax as one summary each: mean key,
            mean value, logarithm of the number of entries (C³ with remainder).
        refresh: decode steps of a row for which a choice holds; 1 chooses in each.
        dense_layers: first layers that read everything.
    """

    remainder: bool = False
    refresh: int = 1
    dense_layers: int = 0

    def check_groups(self) -> None:
        """Raise a UsageError for a value below its limit."""
        require_at_least("refresh", self.refresh, 1)
        require_at_least("dense_layers", self.dense_layers, 0)

    def check_offload(self) -> None:
        """Every layer has the same room on the device."""
        if self.dense_layers:
            raise UsageError(
                f"--kv-offload: with dense_layers={self.dense_layers} the first layers read all of "
                "the speech; give dense_layers=0"
            )


def retrieval_of(policy: EvictionPolicy) -> RetrievalRule | None:
    """The policy's speech rule if it has an index."""
    rule = policy.speech
    return rule if isinstance(rule, RetrievalRule) and rule.has_index else None


def check_offload(policy: EvictionPolicy) -> None:
    """Raise a UsageError if the policy may read all of the speech in a step."""
    rule = retrieval_of(policy)
    if rule is None:
        raise UsageError(
            f"--kv-offload: policy '{policy.name}' chooses no entries by keys and queries, so all "
            "of the speech has to be on the device; give --evict c3r or another of its kind"
        )
    rule.check_offload()


def require_no_warm_up(name: str, steps: int) -> None:
    """Raise a UsageError for a warm-up beside --kv-offload."""
    if steps:
        raise UsageError(
            f"--kv-offload: {name} reads all of the speech in its first {steps} steps; give "
            "--evict-opt warm_up=0, or another policy, such as c3r"
        )


def check_heads(policy: EvictionPolicy, kv_heads: Sequence[int]) -> None:
    """Reject budgets by head that are another model's.

    kv_heads: of each layer, 0 for layers whose speech no index chooses from.

    Raises:
        UsageError: the budgets are of other layers or heads.
    """
    rule = retrieval_of(policy)
    if rule is not None:
        rule.budget.check_heads(kv_heads)


def require_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise a UsageError unless an option's value is one of the choices."""
    if value not in choices:
        raise UsageError(f"--evict-opt {name}={value}: give one of {', '.join(choices)}")


def require_share(name: str, value: float) -> None:
    """Raise a UsageError unless an option's value is from 0 to 1."""
    if not 0 <= value <= 1:
        raise UsageError(f"--evict-opt {name}={value:g}: give 0 to 1")
