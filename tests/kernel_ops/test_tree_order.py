"""`tree_order`, node for node against the reference; prefix sums and summaries of its nodes."""

from __future__ import annotations

import importlib
import math
from typing import Literal

import pytest
import torch

from murmur_kernels import Tree, prefix_sums, range_summaries, reorder_entries, tree_order
from murmur_kernels.reference.tree_order import tree_order_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

UNIT = 2.0**-24
SENTINEL = -77.0
Metric = Literal["cosine", "euclidean"]


@pytest.fixture(params=[*KERNEL_PATHS, pytest.param("machine", id="machine")], autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    if request.param == "machine":
        machine_code = pytest.importorskip("murmur_kernels.compiled.machine_code")
        if not machine_code.runs_here():
            pytest.skip("the machine code is for x86-64 processors with AVX2")
        return torch.device("cpu")
    by_level = importlib.import_module("murmur_kernels.tree_order")
    monkeypatch.setattr(by_level, "_machine_code", lambda *_: None)
    return kernel_device(request.param, monkeypatch, "two_means", "range_summaries")


def int32(values: object, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def table(tree: Tree, row: int, head: int) -> list[tuple[int, int, int, int]]:
    """Start, end, parent and left child of every node."""
    count = int(tree.node_counts[row, head])
    columns = (tree.starts, tree.ends, tree.parents, tree.left_children)
    return list(zip(*(c[row, head, :count].tolist() for c in columns), strict=True))


def check(
    device: torch.device,
    lengths: list[int],
    *,
    leaf_size: int = 1,
    levels: int | None = None,
    metric: Metric = "cosine",
    heads: int = 1,
    iterations: int = 3,
    dtype: torch.dtype = torch.float32,
) -> Tree:
    """Against the reference; entries outside the regions are NaN."""
    rows, places = len(lengths), max(lengths)
    slots, starts = [(row + 2) % 4 for row in range(rows)], [3 * row for row in range(rows)]
    keys = torch.full((4, heads, places + 3 * rows, 8), math.nan)
    for row, length in enumerate(lengths):
        keys[slots[row], :, starts[row] : starts[row] + length] = torch.randn(heads, length, 8)
    keys = keys.to(dtype)
    tree = tree_order(
        keys.to(device),
        int32(slots, device),
        int32(starts, device),
        int32(lengths, device),
        places=places,
        leaf_size=leaf_size,
        levels=levels,
        metric=metric,
        iterations=iterations,
    )
    balanced = max(0, math.ceil(places / leaf_size) - 1).bit_length()
    for row, length in enumerate(lengths):
        for head in range(heads):
            order, nodes = tree_order_reference(
                keys[slots[row], head, starts[row] : starts[row] + length],
                leaf_size=leaf_size,
                levels=2 * balanced if levels is None else levels,
                cosine=metric == "cosine",
                iterations=iterations,
            )
            assert tree.permutation[row, head, :length].tolist() == order
            wanted = [(n.start, n.end, n.parent, n.left_child) for n in nodes]
            assert table(tree, row, head) == wanted
    return tree


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("length", [1, 2, 15, 16, 17])
def test_region_when_of_any_length_then_same_tree_as_reference(
    device: torch.device, length: int, metric: Metric
) -> None:
    check(device, [length], leaf_size=2, metric=metric)


def test_region_when_longer_then_same_tree_as_reference(device: torch.device) -> None:
    check(device, [99], leaf_size=16)


def test_region_when_long_then_same_tree_as_reference(
    device: torch.device, request: pytest.FixtureRequest
) -> None:
    if "interpreted" in request.node.callspec.id:
        pytest.skip("minutes in the interpreter")
    check(device, [1025], leaf_size=16)


def test_rows_and_heads_when_lengths_differ_then_each_has_its_own_tree(
    device: torch.device,
) -> None:
    tree = check(device, [9, 0, 17], leaf_size=5, heads=2)
    assert tree.node_counts[1].tolist() == [1, 1]


def test_levels_when_those_of_a_balanced_tree_then_leaves_are_small_enough(
    device: torch.device,
) -> None:
    tree = check(device, [20], leaf_size=3, levels=3)
    leaves = [end - start for start, end, _, child in table(tree, 0, 0) if child == 0]
    assert sum(leaves) == 20
    assert max(leaves) <= 3


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_keys_when_narrow_then_same_tree_as_reference(
    device: torch.device, dtype: torch.dtype, metric: Metric, request: pytest.FixtureRequest
) -> None:
    if "interpreted" in request.node.callspec.id:
        pytest.skip("minutes in the interpreter")
    check(device, [60, 41], leaf_size=4, metric=metric, dtype=dtype, iterations=8)


def test_machine_code_when_on_more_threads_then_the_same_trees(
    device: torch.device, request: pytest.FixtureRequest
) -> None:
    if "machine" not in request.node.callspec.id:
        pytest.skip("threads of the machine code")
    keys = torch.randn(3, 4, 90, 8)
    rows = (int32([2, 0], device), int32([0, 4], device), int32([90, 80], device))
    threads, found = torch.get_num_threads(), []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            found.append(tree_order(keys, *rows, places=90, leaf_size=2))
    finally:
        torch.set_num_threads(threads)
    for name in ("permutation", "starts", "ends", "left_children", "parents", "node_counts"):
        assert torch.equal(getattr(found[0], name), getattr(found[1], name)), name


def test_region_when_outside_the_arena_then_machine_code_says_so(
    device: torch.device, request: pytest.FixtureRequest
) -> None:
    if "machine" not in request.node.callspec.id:
        pytest.skip("torch takes the nearest entry, which is not used")
    keys, zero = torch.zeros(1, 1, 9, 8), int32([0], device)
    with pytest.raises(ValueError, match="row 0: slot 1 is outside 0 to 0"):
        tree_order(keys, zero + 1, zero, zero + 9, places=9)
    with pytest.raises(ValueError, match="row 0: 9 entries from 1 on are beyond 9 places"):
        tree_order(keys, zero, zero + 1, zero + 9, places=9)


def test_nodes_when_split_then_children_share_out_their_entries(device: torch.device) -> None:
    tree = check(device, [20], leaf_size=3)
    nodes = table(tree, 0, 0)
    for number, (start, end, _, child) in enumerate(nodes):
        if child == 0:
            assert end - start <= 3
            continue
        left, right = nodes[child], nodes[child + 1]
        assert (left[0], left[1], right[1]) == (start, right[0], end)
        assert left[2] == right[2] == number
        assert left[0] < left[1] < right[1]


def test_levels_when_too_few_then_value_error(device: torch.device) -> None:
    keys, one = torch.zeros(1, 1, 9, 4, device=device), int32([9], device)
    with pytest.raises(ValueError, match="levels of at least 4, got 3"):
        tree_order(keys, one * 0, one * 0, one, places=9, levels=3)


def test_region_when_reordered_then_places_are_entries_and_the_rest_stays(
    device: torch.device,
) -> None:
    cache = torch.arange(2 * 2 * 6, device=device, dtype=torch.float32).view(2, 2, 6, 1)
    permutation = int32([[[2, 0, 1, 3], [1, 2, 0, 3]]], device)
    region = (int32([1], device), int32([2], device), int32([3], device))
    reorder_entries(cache, *region, permutation)
    assert cache[0].flatten().tolist() == list(range(12))
    assert cache[1, 0].flatten().tolist() == [12, 13, 16, 14, 15, 17]
    assert cache[1, 1].flatten().tolist() == [18, 19, 21, 22, 20, 23]


def test_tree_when_stored_in_its_order_then_built_again_is_the_same_partition(
    device: torch.device,
) -> None:
    keys = torch.randn(1, 2, 12, 8, device=device)
    region = (int32([0], device), int32([0], device), int32([12], device))
    tree = tree_order(keys, *region, places=12, leaf_size=4, iterations=2)
    moved = keys.clone()
    reorder_entries(moved, *region, tree.permutation)
    wanted = keys[0].gather(1, tree.permutation[0].long().unsqueeze(2).expand(-1, -1, 8))
    assert torch.equal(moved[0], wanted)


# --- prefix sums and summaries -------------------------------------------------------------------


def summarise(
    cache: torch.Tensor,
    slots: list[int],
    starts: list[int],
    lengths: list[int],
    permutation: torch.Tensor,
    ranges: list[list[list[tuple[int, int]]]],
    limit: float | None = None,
) -> None:
    """Every range's mean and log size against float64, within the bound of `prefix_sums`."""
    device = cache.device
    rows, heads, dim = len(slots), cache.shape[1], cache.shape[3]
    most = max(len(spans) for by_head in ranges for spans in by_head)
    padded = torch.zeros(rows, heads, most, 2, dtype=torch.int32, device=device)
    counts = torch.zeros(rows, heads, dtype=torch.int32, device=device)
    for row, by_head in enumerate(ranges):
        for head, spans in enumerate(by_head):
            padded[row, head, : len(spans)] = int32(spans, device).view(-1, 2)
            counts[row, head] = len(spans)
    sums = prefix_sums(
        cache, int32(slots, device), int32(starts, device), int32(lengths, device), permutation
    )
    keys, values = torch.full((2, rows, heads, most, dim), SENTINEL, device=device)
    log_counts = torch.full((rows, heads, most), SENTINEL, device=device)
    range_summaries(sums, sums, padded, counts, keys, values, log_counts)
    assert torch.equal(keys, values)
    for row, by_head in enumerate(ranges):
        for head, spans in enumerate(by_head):
            order = starts[row] + permutation[row, head].long()
            for number, (start, end) in enumerate(spans):
                x = cache[slots[row], head, order[start:end]].double()
                ends = sums.sums[row, head, [start, end]].double().abs().sum(dim=0)
                bound = UNIT * (ends / (end - start) + 4 * sums.center[row, head].double().abs())
                bound += 4 * UNIT * x.abs().amax(dim=0)
                error = (keys[row, head, number].double() - x.mean(dim=0)).abs()
                assert (error <= bound).all()
                assert limit is None or error.max() <= limit
                log_size = log_counts[row, head, number].item()
                assert math.isclose(log_size, math.log(end - start), rel_tol=1e-6, abs_tol=1e-7)
            assert (keys[row, head, len(spans) :] == SENTINEL).all()
            assert (log_counts[row, head, len(spans) :] == SENTINEL).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("length", [1, 15, 16, 17, 99, 1025])
def test_means_when_of_any_range_then_within_bound(
    device: torch.device, length: int, dtype: torch.dtype
) -> None:
    cache = torch.full((3, 2, length + 4, 20), math.nan)
    cache[[1, 2], :, 2 : 2 + length] = torch.randn(2, 2, length, 20) + 3
    permutation = torch.rand(2, 2, length, device=device).argsort(dim=2).int()
    spans = [(0, length), (length // 2, length // 2 + 1), (0, 1), (length - 1, length)]
    summarise(
        cache.to(dtype).to(device),
        [2, 1],
        [2, 2],
        [length, length],
        permutation,
        [[spans, spans[:1]], [[], spans[1:]]],
    )


def test_rows_when_shorter_then_what_is_beyond_is_not_summed(device: torch.device) -> None:
    cache = torch.full((2, 1, 9, 4), math.nan, device=device)
    cache[0, :, :5] = torch.randn(5, 4, device=device)
    cache[1] = torch.randn(9, 4, device=device)
    permutation = torch.arange(9, device=device).int().repeat(2, 1, 1)
    summarise(cache, [0, 1], [0, 0], [5, 9], permutation, [[[(0, 5)]], [[(3, 9)]]])


def test_keys_when_they_share_a_large_part_then_single_entries_are_right(
    device: torch.device,
) -> None:
    cache = (torch.randn(1, 1, 2250, 4, device=device) * 20 + 400).half()
    permutation = torch.arange(2250, device=device).int()[None, None]
    singles = [(j, j + 1) for j in range(0, 2250, 97)]
    summarise(cache, [0], [0], [2250], permutation, [[singles]], limit=3e-4)


def test_summaries_when_rows_are_inactive_or_values_unwanted_then_untouched(
    device: torch.device,
) -> None:
    cache = torch.randn(2, 1, 6, 4, device=device)
    permutation = torch.arange(6, device=device).int().repeat(2, 1, 1)
    region = (int32([0, 1], device), int32([0, 0], device), int32([6, 6], device))
    sums = prefix_sums(cache, *region, permutation)
    keys = torch.full((2, 1, 1, 4), SENTINEL, device=device).half()
    ranges, counts = int32([[[[0, 6]]]] * 2, device), int32([[1], [1]], device)
    active = torch.tensor([False, True], device=device)
    range_summaries(sums, None, ranges, counts, keys, None, None, active=active)
    assert (keys[0] == SENTINEL).all()
    torch.testing.assert_close(
        keys[1, 0, 0].float(), cache[1, 0].mean(dim=0), rtol=2**-10, atol=2**-14
    )
    with pytest.raises(ValueError, match="value_sums and values go together"):
        range_summaries(sums, sums, ranges, counts, keys, None, None)
