"""Frontiers: what they start from, and `frontier_update` step by step against the reference."""

from __future__ import annotations

import importlib
import math

import pytest
import torch

from murmur_kernels import Frontier, Tree, frontier_update, start_frontier, tree_order
from murmur_kernels.reference.frontier_update import (
    frontier_update_reference,
    start_frontier_reference,
)
from murmur_kernels.reference.tree_order import Node
from support.kernel_paths import KERNEL_PATHS, kernel_device

SENTINEL = -77


@pytest.fixture(params=[*KERNEL_PATHS, pytest.param("machine", id="machine")], autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    if request.param == "machine":
        machine_code = pytest.importorskip("murmur_kernels.compiled.machine_code")
        if not machine_code.runs_here():
            pytest.skip("the machine code is for x86-64 processors with AVX2")
        return torch.device("cpu")
    op = importlib.import_module("murmur_kernels.frontier_update")
    monkeypatch.setattr(op, "_machine_code", lambda: None)
    # Trees are built by torch on the CPU, for speed; only the op is interpreted.
    return kernel_device(request.param, monkeypatch, "frontier_update")


def int32(values: object, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def make_tree(lengths: list[int], heads: int, device: torch.device, leaf_size: int = 1) -> Tree:
    rows, places = len(lengths), max(lengths)
    keys = torch.randn(rows, heads, places, 6, device=device)
    region = (torch.arange(rows, device=device).int(), int32([0] * rows, device))
    return tree_order(
        keys, *region, int32(lengths, device), places=places, leaf_size=leaf_size, iterations=2
    )


def nodes_of(tree: Tree, row: int, head: int) -> list[Node]:
    count = int(tree.node_counts[row, head])
    columns = (tree.starts, tree.ends, tree.parents, tree.left_children)
    return [Node(*n) for n in zip(*(c[row, head, :count].tolist() for c in columns), strict=True)]


def active_of(frontier: Frontier, row: int, head: int) -> list[int]:
    active: list[int] = frontier.nodes[row, head, : frontier.counts[row, head]].tolist()
    return active


def check_partition(tree: Tree, frontier: Frontier, row: int, head: int, length: int) -> None:
    """Active nodes share out all places, and all that is kept of them agrees."""
    active = active_of(frontier, row, head)
    count = len(active)
    starts, ends = frontier.starts[row, head, :count], frontier.ends[row, head, :count]
    spans = sorted(zip(starts.tolist(), ends.tolist(), strict=True))
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == length
    index = torch.tensor(active, device=frontier.nodes.device)
    assert torch.equal(starts, tree.starts[row, head, index])
    assert torch.equal(ends, tree.ends[row, head, index])
    assert frontier.positions[row, head, index].tolist() == list(range(count))


def update(
    tree: Tree, frontier: Frontier, operations: int, active: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    shape = frontier.counts.shape
    changed = torch.full((*shape, 3 * operations), SENTINEL, dtype=torch.int32)
    number = torch.full(shape, SENTINEL, dtype=torch.int32)
    device = frontier.nodes.device
    changed, number = changed.to(device), number.to(device)
    frontier_update(tree, frontier, changed, number, operations=operations, active=active)
    return changed, number


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 99])
def test_start_when_the_largest_is_split_again_and_again_then_same_as_reference(
    device: torch.device, length: int
) -> None:
    tree = make_tree([length, (length + 1) // 2], 2, device)
    sizes = int32([[1, 2], [5, 40]], device)
    frontier = start_frontier(tree, sizes, size=40)
    for row in range(2):
        for head in range(2):
            wanted = start_frontier_reference(nodes_of(tree, row, head), int(sizes[row, head]))
            assert active_of(frontier, row, head) == wanted
            check_partition(tree, frontier, row, head, [length, (length + 1) // 2][row])


def test_start_when_region_is_empty_then_no_node_is_active(device: torch.device) -> None:
    frontier = start_frontier(make_tree([0, 4], 1, device), int32([[3], [3]], device), size=3)
    assert frontier.counts.tolist() == [[0], [3]]
    _, number = update(make_tree([0, 4], 1, device), frontier, 2)
    assert number[0].tolist() == [0]


@pytest.mark.parametrize("operations", [1, 2, 4])
def test_updates_when_scores_are_random_then_same_as_reference(
    device: torch.device, operations: int
) -> None:
    lengths = [40, 23]
    tree = make_tree(lengths, 2, device)
    frontier = start_frontier(tree, int32([[9, 4], [2, 23]], device), size=23)
    for _ in range(4):
        # Few values, so that many are equal.
        frontier.averages.copy_(torch.randint(0, 6, frontier.averages.shape))
        wanted = {}
        for row in range(2):
            for head in range(2):
                active = active_of(frontier, row, head)
                averages = frontier.averages[row, head, : len(active)].tolist()
                nodes = nodes_of(tree, row, head)
                moved = frontier_update_reference(nodes, active, averages, operations)
                wanted[row, head] = active, averages, moved
        changed, number = update(tree, frontier, operations)
        for (row, head), (active, averages, moved) in wanted.items():
            assert active_of(frontier, row, head) == active
            assert frontier.averages[row, head, : len(active)].tolist() == averages
            assert changed[row, head, : len(moved)].tolist() == moved
            assert (changed[row, head, len(moved) :] == SENTINEL).all()
            assert int(number[row, head]) == len(moved)
            check_partition(tree, frontier, row, head, lengths[row])


def test_frontier_when_a_thousand_steps_old_then_shares_out_all_and_kept_its_size(
    device: torch.device, request: pytest.FixtureRequest
) -> None:
    steps = 20 if "interpreted" in request.node.callspec.id else 1000
    lengths = [99, 64]
    tree = make_tree(lengths, 2, device, leaf_size=2)
    sizes = int32([[7, 7], [4, 4]], device)
    frontier = start_frontier(tree, sizes, size=7)
    seen = set()
    for step in range(steps):
        scores = torch.rand(frontier.averages.shape).to(device)
        frontier.averages.mul_(0.5).add_(scores, alpha=0.5)
        update(tree, frontier, 2)
        seen.add(tuple(sorted(active_of(frontier, 0, 0))))
        if step % 50 == 0 or step == steps - 1:
            assert torch.equal(frontier.counts, sizes)
            for row in range(2):
                for head in range(2):
                    check_partition(tree, frontier, row, head, lengths[row])
    assert len(seen) > 5  # it does move


def test_update_when_by_hand_then_split_and_merge_trade_places(device: torch.device) -> None:
    # 0: [0, 8) = 1 + 2;  1: [0, 4) = 3 + 4;  2: [4, 8) = 5 + 6;  3: [0, 2) = 7 + 8
    nodes = [
        Node(0, 8, 0, 1),
        Node(0, 4, 0, 3),
        Node(4, 8, 0, 5),
        Node(0, 2, 1, 7),
        Node(2, 4, 1, 0),
        Node(4, 6, 2, 0),
        Node(6, 8, 2, 0),
        Node(0, 1, 3, 0),
        Node(1, 2, 3, 0),
    ]

    def column(name: str) -> torch.Tensor:
        return int32([[[getattr(node, name) for node in nodes]]], device)

    tree = Tree(
        permutation=int32([[list(range(8))]], device),
        starts=column("start"),
        ends=column("end"),
        left_children=column("left_child"),
        parents=column("parent"),
        node_counts=int32([[9]], device),
    )
    frontier = start_frontier(tree, int32([[4]], device), size=4)
    assert active_of(frontier, 0, 0) == [3, 4, 5, 6]
    frontier.averages.copy_(torch.tensor([0.9, 0.1, 0.2, 0.3]))
    changed, number = update(tree, frontier, 2)
    # 3 is split, 5 and 6 are merged: 7 where 3 was, 2 where 5 was, 8 where 6 was. Then the best
    # to split is 2, of 0.3; the pair to merge is 7 and 8, of 0.9: nothing.
    assert active_of(frontier, 0, 0) == [7, 4, 2, 8]
    torch.testing.assert_close(frontier.averages[0, 0].cpu(), torch.tensor([0.9, 0.1, 0.3, 0.9]))
    assert changed[0, 0, :3].tolist() == [0, 3, 2]
    assert number.tolist() == [[3]]


def test_update_when_all_scores_are_equal_then_nothing_moves(device: torch.device) -> None:
    tree = make_tree([30], 1, device)
    frontier = start_frontier(tree, int32([[6]], device), size=6)
    before = active_of(frontier, 0, 0)
    _, number = update(tree, frontier, 2)
    assert number.tolist() == [[0]]
    assert active_of(frontier, 0, 0) == before


def test_rows_when_inactive_then_frontiers_stay(device: torch.device) -> None:
    tree = make_tree([30, 30], 1, device)
    frontier = start_frontier(tree, int32([[6], [6]], device), size=6)
    frontier.averages.copy_(torch.rand(2, 1, 6))
    before = active_of(frontier, 0, 0)
    active = torch.tensor([False, True], device=device)
    changed, number = update(tree, frontier, 2, active)
    assert active_of(frontier, 0, 0) == before
    assert (changed[0] == SENTINEL).all()
    assert number[0].tolist() == [SENTINEL]
    assert number[1].item() != SENTINEL


def test_scores_when_minus_infinity_then_never_split(device: torch.device) -> None:
    tree = make_tree([30], 1, device)
    frontier = start_frontier(tree, int32([[6]], device), size=6)
    frontier.averages.fill_(-math.inf)
    _, number = update(tree, frontier, 2)
    assert number.tolist() == [[0]]


def test_tensors_when_not_contiguous_then_value_error_names_them(device: torch.device) -> None:
    tree = make_tree([30, 30], 2, device)
    frontier = start_frontier(tree, int32([[6, 6]] * 2, device), size=6)
    number = torch.zeros(2, 2, dtype=torch.int32, device=device)
    changed = torch.zeros(2, 2, 6, dtype=torch.int32, device=device).transpose(0, 1)
    with pytest.raises(ValueError, match="want changed contiguous"):
        frontier_update(tree, frontier, changed, number)
