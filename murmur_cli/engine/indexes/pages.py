"""Groups that are pages: so many consecutive entries each."""

from __future__ import annotations

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.groups import GroupIndex
from murmur_cli.engine.policies.retrieval import GroupRule
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import NO_WEIGHT, GroupRanking, page_stats
from murmur_kernels.page_stats import PageStatsKind


class PageIndex(GroupIndex):
    """Whole pages, the highest scores first.

    Args:
        rule: the options.
        arena: whose speech it is.
        places: most speech entries of a row.
        page: entries of a page.
        least_pages: that are read whatever the budget.
        stats: what is known of a page.
        ranking: of the pages.
    """

    def __init__(
        self,
        rule: GroupRule,
        arena: KvArena,
        places: int,
        page: int,
        least_pages: int,
        stats: PageStatsKind,
        ranking: GroupRanking,
    ) -> None:
        pages = max(1, -(-places // page))
        super().__init__(rule, arena, pages, ranking, with_keys=False)
        self._page = page
        self._least_pages = least_pages
        self._stats_kind: PageStatsKind = stats
        shape = arena.shape
        size = (shape.layers, shape.slots, shape.kv_heads, self._groups, shape.head_dim)
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
            self.table.counts[layer, slots] = (sizes > 0).sum(dim=2, dtype=torch.int32)
            self._stats(layer, rows, slots)

    def _stats(self, layer: int, rows: SpeechRows, slots: torch.Tensor) -> None:
        keys, values = self._arena.keys[layer], self._arena.values[layer]
        region = (rows.slot_index, rows.first_entries, rows.entries)
        low, high = (
            torch.zeros_like(self._low[layer, slots]),
            torch.zeros_like(self._low[layer, slots]),
        )
        page_stats(keys, *region, low, high, page_size=self._page, kind=self._stats_kind)
        self._low[layer, slots], self._high[layer, slots] = low, high
        if not self._rule.remainder:
            return
        for cache, means in ((keys, self._keys), (values, self._values)):
            page_stats(cache, *region, low, high, page_size=self._page, kind="deviation")
            means[layer, slots] = low.to(means.dtype)

    def _low_high(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self._low[layer], self._high[layer]

    def _wanted(self, layer: int, rows: SpeechRows) -> torch.Tensor:
        """Whole pages: entries of so many full ones."""
        pages = super()._wanted(layer, rows) // self._page
        return pages.clamp(min=self._least_pages) * self._page
