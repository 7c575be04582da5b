"""Groups that are pages: so many consecutive entries each."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.groups import NO_WEIGHT, GroupIndex
from murmur_cli.engine.policies.retrieval import GroupRule
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import page_score, page_stats
from murmur_kernels.page_score import GroupReduce, PageScoreFormula
from murmur_kernels.page_stats import PageStatsKind


@dataclass(frozen=True, slots=True)
class PageScore:
    """How pages are ranked: arguments of `page_stats` and `page_score`."""

    stats: PageStatsKind
    formula: PageScoreFormula
    reduce: GroupReduce
    weight: float


class PageIndex(GroupIndex):
    """Whole pages, the highest scores first.

    Args:
        rule: the options.
        arena: whose speech it is.
        places: most speech entries of a row.
        page: entries of a page.
        least_pages: that are read whatever the budget.
        score: how pages are ranked.
    """

    def __init__(
        self,
        rule: GroupRule,
        arena: KvArena,
        places: int,
        page: int,
        least_pages: int,
        score: PageScore,
    ) -> None:
        pages = max(1, -(-places // page))
        wanted = max(least_pages, rule.budget.most(places) // page)
        super().__init__(rule, arena, pages, spare_groups=wanted + 1)
        self._page = page
        self._least_pages = least_pages
        self._score = score
        shape = arena.shape
        size = (shape.layers, shape.slots, shape.kv_heads, pages, shape.head_dim)
        self._low = torch.zeros(size, device=shape.device)
        self._high = torch.zeros(size, device=shape.device)

    def build(self, rows: SpeechRows) -> None:
        """Statistics of each page; means where there is a remainder."""
        slots = rows.slot_index.long()
        number = torch.arange(self._groups, dtype=torch.int32, device=rows.device) * self._page
        ends = torch.minimum(number + self._page, rows.entries[:, None])
        starts = torch.minimum(number, ends)
        sizes = (ends - starts)[:, None]
        log_sizes = torch.where(sizes > 0, sizes.float().log(), NO_WEIGHT)
        for layer in range(self._arena.shape.layers):
            self.table.starts[layer, slots] = starts[:, None]
            self.table.ends[layer, slots] = ends[:, None]
            self.table.log_sizes[layer, slots] = log_sizes
            self.table.numbers[layer, slots] = (sizes > 0).sum(dim=(1, 2)).float()
            self._stats(layer, rows, slots)

    def _stats(self, layer: int, rows: SpeechRows, slots: torch.Tensor) -> None:
        keys, values = self._arena.keys[layer], self._arena.values[layer]
        region = (rows.slot_index, rows.first_entries, rows.entries)
        low, high = (
            torch.zeros_like(self._low[layer, slots]),
            torch.zeros_like(self._low[layer, slots]),
        )
        page_stats(keys, *region, low, high, page_size=self._page, kind=self._score.stats)
        self._low[layer, slots], self._high[layer, slots] = low, high
        if not self._rule.remainder:
            return
        for cache, means in ((keys, self.table.keys), (values, self._values)):
            page_stats(cache, *region, low, high, page_size=self._page, kind="deviation")
            means[layer, slots] = low

    def _scores(
        self, layer: int, rows: SpeechRows, query: torch.Tensor, scale: float
    ) -> torch.Tensor:
        return page_score(
            query,
            rows.of(self._low[layer]),
            rows.of(self._high[layer]),
            -(-rows.entries // self._page),
            formula=self._score.formula,
            reduce=self._score.reduce,
            weight=self._score.weight,
        )

    def _wanted(self, layer: int, rows: SpeechRows) -> torch.Tensor:
        """Whole pages: entries of so many full ones."""
        pages = super()._wanted(layer, rows) // self._page
        return pages.clamp(min=self._least_pages) * self._page
