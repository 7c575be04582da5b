"""Quest: pages of consecutive entries, ranked by an upper bound of the query's product.

Source: Quest (arXiv:2406.10774) and its public code. A page of 16 entries is known by the least
and greatest value of each channel of its keys; sum_c max(q_c low_c, q_c high_c) is at least
q . k of each of its keys. A step reads the max(3, B // 16) pages that score highest.

Choices where a speech region differs from the source's cache, or it leaves one:
- pages are counted from the start of the speech, which alone is ranked: prompt and output are
  read whole, and the budget counts speech entries;
- one list per KV head, by the highest score of its query heads (`reduce=mean` is the other
  choice; the published evaluation ranks for each query head);
- no page is always read, as the current page of the source is: none of the speech is current;
- the source reads everything in its first two layers; here `dense_layers` is 0, so that budgets
  compare;
- `score=mean` ranks by mean keys, the base of C³'s ablations; `remainder` as in `groups.py`.
"""

from __future__ import annotations

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.pages import PageIndex
from murmur_cli.engine.policies.quest import Quest
from murmur_kernels import GroupRanking
from murmur_kernels.page_stats import PageStatsKind


class QuestIndex(PageIndex):
    """Pages by 'minmax'."""

    def __init__(self, rule: Quest, arena: KvArena, places: int) -> None:
        by_bound = rule.score == "minmax"
        ranking = GroupRanking(
            "minmax" if by_bound else "deviation",
            "max" if rule.reduce == "max" else "mean",
            weight=1.0 if by_bound else 0.0,
        )
        stats: PageStatsKind = "minmax" if by_bound else "deviation"
        super().__init__(rule, arena, places, rule.page, rule.least_pages, stats, ranking)
