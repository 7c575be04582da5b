"""PyramidKV: SnapKV's choice with a budget that falls from layer to layer.

Source: PyramidKV (arXiv:2406.02069) and KVCache-Factory's code, whose whole-number rule is taken:
with c the mean budget, the last layer has c // beta, the first 2 c - c // beta (no more than
there are entries, the last then 2 c less that), and the layers between fall by equal steps,
rounded down. Rows with less than 2 c entries have c in every layer.

Choices: as SnapKV's; c counts speech entries, as the window holds none. A model of one layer has
c. Layers are counted within one arena, where a model's layers differ in shape.
"""

from __future__ import annotations

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.snapkv import SnapKvIndex
from murmur_cli.engine.policies.pyramidkv import PyramidKv


class PyramidKvIndex(SnapKvIndex):
    """The best entries of each KV head, most in the first layer."""

    def __init__(self, rule: PyramidKv, arena: KvArena, places: int) -> None:
        super().__init__(rule, arena, places, most=2 * rule.budget.of(places))
        self._beta = rule.beta

    def _budgets(self, layer: int, entries: int) -> list[int]:
        shape, mean = self._arena.shape, self._rule.budget.of(entries)
        return [pyramid_budget(layer, shape.layers, mean, entries, self._beta)] * shape.kv_heads


def pyramid_budget(layer: int, layers: int, mean: int, entries: int, beta: int) -> int:
    """Entries that layer `layer` of `layers` keeps of `entries`; at least one."""
    if layers == 1 or entries < 2 * mean:
        return min(mean, entries)
    last = mean // beta
    first = 2 * mean - last
    if first >= entries:
        first, last = entries, 2 * mean - entries
    return max(1, first - layer * ((first - last) // (layers - 1)))
