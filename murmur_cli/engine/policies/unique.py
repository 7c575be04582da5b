"""Options of UNIQUE; the index is `engine/indexes/unique.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import GroupRule, require_choice
from murmur_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class Unique(GroupRule):
    """Pages of consecutive entries, ranked by mean key and deviation.

    Attributes:
        page: entries of a page.
        reduce: over the query heads of a KV head, 'max' or 'mean'.
        formula: which reading of the published abstract: 'deviation', 'norm' or 'second_order'
            (`murmur_kernels.page_score`).
        weight: of the deviation's term.
        least_pages: pages that are read whatever the budget.

    Raises:
        UsageError: a value outside its limits.
    """

    page: int = 16
    reduce: str = "max"
    formula: str = "deviation"
    weight: float = 1.0
    least_pages: int = 3

    def most_read(self, entries: int) -> int:
        """Whole pages, and some whatever the budget."""
        return min(entries, max(self.least_pages * self.page, self.budget.most(entries)))

    def __post_init__(self) -> None:
        self.check_groups()
        require_at_least("page", self.page, 1)
        require_at_least("least_pages", self.least_pages, 1)
        require_choice("reduce", self.reduce, ("max", "mean"))
        require_choice("formula", self.formula, ("deviation", "norm", "second_order"))
        if not self.weight >= 0:
            raise UsageError(f"--evict-opt weight={self.weight:g}: give 0 or more")
