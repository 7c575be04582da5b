"""UNIQUE: pages of consecutive entries, ranked by mean key and deviation. Our reading.

Source: the abstract of UNIQUE (arXiv:2605.27740); the formula itself is not in it. A page is
known by its mean key and, as a bias, the standard deviation of its keys. Read as

    q . mean + weight * sum_c |q_c| std_c

which needs no tuning and equals Quest for pages of two entries; `formula=norm` and
`formula=second_order` are other readings. Page size, GQA (highest score of a KV head's query
heads) and the rest as in `quest.py`.
"""

from __future__ import annotations

from typing import cast

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.pages import PageIndex
from murmur_cli.engine.policies.unique import Unique
from murmur_kernels import GroupRanking
from murmur_kernels.page_score import PageScoreFormula


class UniqueIndex(PageIndex):
    """Pages by mean and deviation."""

    def __init__(self, rule: Unique, arena: KvArena, places: int) -> None:
        ranking = GroupRanking(
            cast(PageScoreFormula, rule.formula),
            "max" if rule.reduce == "max" else "mean",
            weight=rule.weight,
        )
        super().__init__(rule, arena, places, rule.page, rule.least_pages, "deviation", ranking)
