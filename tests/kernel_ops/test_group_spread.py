"""`group_spread` and `tree_spread` against numpy in float64."""

from __future__ import annotations

import heapq
import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from murmur_kernels import (
    Tree,
    group_moments,
    start_frontier,
    tree_order,
    tree_spread,
)


def int32(values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def drawn(seed: int, *sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_groups_when_some_are_empty_and_rows_shorter_then_moments_of_numpy(
    dtype: torch.dtype, offset: float
) -> None:
    keys, values = torch.full((2, 3, 2, 20, 4), math.nan)
    for cache, seed in ((keys, 1), (values, 2)):
        cache[2, :, 1:13] = drawn(seed, 2, 12, 4) + offset
        cache[0, :, 4:9] = drawn(seed + 2, 2, 5, 4) + offset
    keys, values = keys.to(dtype), values.to(dtype)
    ends = [[[1, 1, 9, 12], [3, 4, 4, 12]], [[5, 5, 5, 5], [2, 3, 5, 5]]]
    slots, starts, lengths = [2, 0], [1, 4], [12, 5]
    region = (int32(slots), int32(starts), int32(lengths))
    found = group_moments(keys, values, *region, int32(ends), places=15)
    deviations, tilts = found.deviations, found.tilts
    assert deviations.shape == (2, 2, 4)
    assert tilts.shape == (2, 2, 4, 4)
    for row in range(2):
        for head in range(2):
            k, v = (
                cache[slots[row], head, starts[row] : starts[row] + lengths[row]].double().numpy()
                for cache in (keys, values)
            )
            product = np.zeros((4, 4))
            for group, (begin, end) in enumerate(pairwise([0, *ends[row][head]])):
                if begin == end:
                    assert deviations[row, head, group] == 0
                    assert not found.keys[row, head, group].any()
                    assert not found.values[row, head, group].any()
                    continue
                for mean, part in ((found.keys, k), (found.values, v)):
                    np.testing.assert_allclose(
                        mean[row, head, group], part[begin:end].mean(0), rtol=1e-6, atol=1e-6
                    )
                away, value = (
                    k[begin:end] - k[begin:end].mean(0),
                    v[begin:end] - v[begin:end].mean(0),
                )
                wanted = math.sqrt((away**2).mean())
                assert deviations[row, head, group].item() == pytest.approx(
                    wanted, abs=1e-5 if end - begin > 1 else 0
                )
                product += away.T @ value
            np.testing.assert_allclose(tilts[row, head], product / lengths[row], atol=1e-5)


def test_rows_when_without_entries_then_zeros() -> None:
    none, keys = int32([0]), torch.full((1, 1, 4, 8), math.nan)
    found = group_moments(keys, keys, none, none, none, int32([[[0, 0]]]), places=4)
    for part in (found.keys, found.values, found.deviations, found.tilts):
        assert part.isfinite().all()
        assert not part.any()


def ordered_tree(keys: torch.Tensor, lengths: list[int], leaf: int) -> tuple[Tree, torch.Tensor]:
    """The tree of rows that are slots, and the keys in its order."""
    rows = len(lengths)
    region = (torch.arange(rows, dtype=torch.int32), int32([0] * rows), int32(lengths))
    tree = tree_order(keys, *region, places=keys.shape[2], leaf_size=leaf, metric="euclidean")
    order = tree.permutation.long().unsqueeze(3).expand(-1, -1, -1, keys.shape[3])
    return tree, keys.gather(2, order)


def spread_of(keys: torch.Tensor, lengths: list[int], tree: Tree) -> torch.Tensor:
    rows = len(lengths)
    region = (torch.arange(rows, dtype=torch.int32), int32([0] * rows), int32(lengths))
    return tree_spread(keys, *region, tree)


def test_nodes_when_spread_is_asked_then_squares_of_numpy() -> None:
    keys, lengths = drawn(5, 2, 2, 40, 8) + 50, [40, 23]
    tree, ordered = ordered_tree(keys, lengths, leaf=2)
    found = spread_of(ordered, lengths, tree)
    for row in range(2):
        for head in range(2):
            for node in range(int(tree.node_counts[row, head])):
                begin, end = int(tree.starts[row, head, node]), int(tree.ends[row, head, node])
                part = ordered[row, head, begin:end].double().numpy()
                wanted = ((part - part.mean(0)) ** 2).sum()
                assert found[row, head, node].item() == pytest.approx(wanted, rel=1e-4, abs=1e-2)


@pytest.mark.parametrize("kind", ["drawn", "equal", "far", "pairs"])
def test_children_when_compared_then_never_above_their_parents(kind: str) -> None:
    keys = {
        "drawn": drawn(6, 1, 2, 300, 8),
        "equal": torch.ones(1, 2, 300, 8),
        "far": drawn(6, 1, 2, 300, 8) * 1e-4 + 900,
        "pairs": drawn(6, 1, 2, 2, 8).repeat(1, 1, 150, 1),
    }[kind]
    tree, ordered = ordered_tree(keys, [300], leaf=1)
    found = spread_of(ordered, [300], tree)
    for head in range(2):
        count = int(tree.node_counts[0, head])
        parents = tree.parents[0, head, 1:count].long()
        assert (found[0, head, 1:count] <= found[0, head, parents]).all()


@pytest.mark.parametrize("size", [1, 2, 9, 23, 40])
def test_frontier_when_split_by_spread_then_that_of_best_first_search(size: int) -> None:
    keys, lengths = drawn(7, 2, 2, 40, 8), [40, 23]
    tree, ordered = ordered_tree(keys, lengths, leaf=2)
    spread = spread_of(ordered, lengths, tree)
    frontier = start_frontier(tree, int32([[size] * 2] * 2), size=40, spread=spread)
    for row in range(2):
        for head in range(2):
            left = tree.left_children[row, head].tolist()
            heap = [(-spread[row, head, 0].item(), 0)]
            leaves = []
            while heap and len(heap) + len(leaves) < size:
                _, node = heapq.heappop(heap)
                if not left[node]:
                    leaves.append(node)
                    continue
                for child in (left[node], left[node] + 1):
                    heapq.heappush(heap, (-spread[row, head, child].item(), child))
            wanted = sorted(leaves + [node for _, node in heap])
            count = int(frontier.counts[row, head])
            assert sorted(frontier.nodes[row, head, :count].tolist()) == wanted
            spans = sorted(
                zip(
                    frontier.starts[row, head, :count].tolist(),
                    frontier.ends[row, head, :count].tolist(),
                    strict=True,
                )
            )
            assert [begin for begin, _ in spans] == [0, *(end for _, end in spans[:-1])]
            assert spans[-1][1] == lengths[row]


def test_arguments_when_they_do_not_fit_then_value_error_names_them() -> None:
    row, keys = int32([0]), torch.zeros(1, 2, 4, 4)
    with pytest.raises(ValueError, match="want ends of shape"):
        group_moments(keys, keys, row, row, row, int32([[[0]]]), places=4)
