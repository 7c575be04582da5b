"""Options of Quest; the index is `engine/indexes/quest.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import GroupRule, require_choice


@dataclass(frozen=True, slots=True)
class Quest(GroupRule):
    """Pages of consecutive entries, ranked by an upper bound of the query's product.

    Attributes:
        page: entries of a page (published: 16).
        reduce: over the query heads of a KV head, 'max' or 'mean'.
        score: 'minmax' (Quest) or 'mean' (the page's mean key, the base of C³'s ablations).
        least_pages: pages that are read whatever the budget (published code: 3).

    Raises:
        UsageError: a value outside its limits.
    """

    page: int = 16
    reduce: str = "max"
    score: str = "minmax"
    least_pages: int = 3

    def most_read(self, entries: int) -> int:
        """Whole pages, and some whatever the budget."""
        return min(entries, max(self.least_pages * self.page, self.budget.most(entries)))

    def __post_init__(self) -> None:
        self.check_groups()
        require_at_least("page", self.page, 1)
        require_at_least("least_pages", self.least_pages, 1)
        require_choice("reduce", self.reduce, ("max", "mean"))
        require_choice("score", self.score, ("minmax", "mean"))
