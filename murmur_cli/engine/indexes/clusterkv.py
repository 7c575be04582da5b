"""ClusterKV: flat clusters of keys, ranked by the product of query and centroid.

Source: ClusterKV (arXiv:2412.03213) and its public code: k-means of each KV head's keys,
assigned by cosine, centroids the means of their keys, at most 20 iterations; a step ranks
clusters by q . centroid, not by cosine, and reads them in that order until the budget is full;
the last one is cut, its earliest entries first. Clusters: entries / 80 (paper).

Choices: only the speech is clustered, and what follows it is read whole, where the source
clusters every 320 generated tokens too; its 16 sinks are those of the prompt, always read here;
its first two dense layers are `dense_layers`, by default 0, so that budgets compare; one list per
KV head, by the mean of its query heads' products (`reduce`), where the source ranks for each
query head; the source draws its first centroids, here they are evenly spaced entries. An entry
goes to the first of equally near centroids; a cluster that loses all its entries keeps its
centroid and takes part in the next iteration. Clusters are stored one after the other, so each
is one range of the slot.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.groups import GroupIndex
from murmur_cli.engine.indexes.ordered_speech import OrderedSpeech
from murmur_cli.engine.policies.clusterkv import ClusterKv
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import NO_WEIGHT, GroupRanking


class ClusterKvIndex(GroupIndex):
    """Groups are the clusters."""

    def __init__(self, rule: ClusterKv, arena: KvArena, places: int) -> None:
        self._options = rule
        self._speech = OrderedSpeech(arena, places)
        ranking = GroupRanking("dot", "max" if rule.reduce == "max" else "mean")
        super().__init__(rule, arena, max(1, -(-places // rule.cluster)), ranking)

    def build(self, rows: SpeechRows) -> None:
        """Clusters of every layer and row."""
        for number, (slot, start, length) in enumerate(
            zip(rows.slots, rows.starts, rows.lengths, strict=True)
        ):
            one = rows.only([number])
            for layer in range(self._arena.shape.layers):
                keys = self._arena.keys[layer, slot, :, start : start + length].float()
                self._store(layer, one, self._labels(keys))

    def _labels(self, keys: torch.Tensor) -> torch.Tensor:
        """(kv_heads, entries): the cluster of each of keys (kv_heads, entries, head_dim)."""
        heads, entries, _ = keys.shape
        clusters = max(1, entries // self._options.cluster)
        unit = torch.nn.functional.normalize(keys, dim=2)
        first = torch.arange(clusters, device=keys.device) * entries // clusters
        centroids = keys[:, first]
        labels = torch.zeros(heads, entries, dtype=torch.long, device=keys.device)
        for _ in range(self._options.iterations):
            nearest = torch.nn.functional.normalize(centroids, dim=2)
            new = (unit @ nearest.mT).argmax(dim=2)
            if torch.equal(new, labels):
                break
            labels = new
            centroids = _means(keys, labels, centroids)
        return labels

    def _store(self, layer: int, row: SpeechRows, labels: torch.Tensor) -> None:
        """Rewrite the speech of one row cluster by cluster, and fill the table."""
        heads, entries = labels.shape
        order = labels.argsort(dim=1, stable=True)
        places = self._speech.permutation.shape[3]
        permutation = torch.zeros(1, heads, places, dtype=torch.int32, device=row.device)
        permutation[0, :, :entries] = order
        flat = self._speech.one_layer(row, layer)
        self._speech.store(flat, permutation)
        sizes = torch.zeros(heads, self._groups, dtype=torch.int32, device=row.device)
        sizes.scatter_add_(1, labels, torch.ones_like(labels, dtype=torch.int32))
        ends = sizes.cumsum(dim=1, dtype=torch.int32)
        # Clusters that lost all entries come last.
        filled_first = (sizes == 0).to(torch.int8).argsort(dim=1, stable=True)
        sizes, ends = sizes.gather(1, filled_first), ends.gather(1, filled_first)
        slot = row.slots[0]
        table = self.table
        table.starts[layer, slot], table.ends[layer, slot] = ends - sizes, ends
        table.log_sizes[layer, slot] = torch.where(sizes > 0, sizes.float().log(), NO_WEIGHT)
        table.counts[layer, slot] = (sizes > 0).sum(dim=1, dtype=torch.int32)
        one = slice(slot, slot + 1)
        # Without entries from a row's last cluster on.
        upto = ends.cummax(dim=1).values[None]
        self._keys[layer, one] = self._speech.means(flat, upto, of_values=False)
        if table.values is not None:
            table.values[layer, one] = self._speech.means(flat, upto, of_values=True)

    def _permutation(self, layer: int) -> torch.Tensor:
        return self._speech.permutation[layer]

    def in_time(
        self, layer: int, rows: SpeechRows, heads: Sequence[int], by_entry: torch.Tensor
    ) -> torch.Tensor:
        """Undo the order of the clusters."""
        return self._speech.in_time(layer, rows, heads, by_entry)


def _means(keys: torch.Tensor, labels: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """Mean key of each cluster (heads, clusters, head_dim); `before` where it has none."""
    wide = labels.unsqueeze(2).expand(keys.shape)
    sums = torch.zeros_like(before).scatter_add_(1, wide, keys)
    sizes = torch.zeros(before.shape[:2], device=keys.device)
    sizes.scatter_add_(1, labels, torch.ones_like(labels, dtype=sizes.dtype))
    means = sums / sizes.clamp(min=1).unsqueeze(2)
    return torch.where(sizes.unsqueeze(2) > 0, means, before)
