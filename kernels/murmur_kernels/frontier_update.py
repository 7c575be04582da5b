"""Moves a frontier by paired operations: split where scores are high, merge where they are low.

    split:  the active node with children and the highest average, of equals the first in `nodes`
    merge:  the pair of active siblings whose higher average is lowest, of equals the one whose
            left sibling is first in `nodes`
    both, if average(split) > higher average(merge), else neither; then the next operation

The children inherit the average of the node that is split; the parent of the merged pair gets its
higher one (C3; the maximum as its ranking takes it over query heads). The left child takes the
place of the split node, the parent that of the left sibling, and the right child that of the
right sibling: the frontier keeps its size and goes on sharing out all entries.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.frontier import Frontier
from murmur_kernels.tensor_checks import (
    FLOAT32,
    INT32,
    check_active,
    check_at_least,
    check_tensor,
)
from murmur_kernels.tree_order import Tree

if TYPE_CHECKING:
    from murmur_kernels.compiled.machine_code import MachineCode


def frontier_update(
    tree: Tree,
    frontier: Frontier,
    changed: torch.Tensor,
    num_changed: torch.Tensor,
    *,
    operations: int = 2,
    active: torch.Tensor | None = None,
) -> None:
    """Do up to `operations` paired operations on every (row, KV head), one after the other.

    Args:
        tree: of `tree_order`; its node table is read.
        frontier: of `start_frontier`; nodes, starts, ends, averages and positions are written.
        changed: (rows, kv_heads, 3 * operations) int32, written: the positions of `nodes` that
            hold another node now, three per operation done; one may come twice.
        num_changed: (rows, kv_heads) int32, written.
        operations: at most; C3 does 2 a step.
        active: (rows,) bool; the frontiers of other rows stay, and so does what is written of
            them; their indices must lie within the tree all the same, as zeros do. None: all are.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit, or a tensor that is not contiguous.
    """
    device = tree.starts.device
    check_at_least("operations", operations, 1)
    check_tensor("starts of the tree", tree.starts, (None, None, None), INT32, device)
    for name, tensor in (
        ("ends of the tree", tree.ends),
        ("left_children", tree.left_children),
        ("parents", tree.parents),
        ("positions", frontier.positions),
    ):
        check_tensor(name, tensor, tree.starts.shape, INT32, device)
    rows, heads, _ = tree.starts.shape
    check_tensor("nodes", frontier.nodes, (rows, heads, None), INT32, device)
    check_tensor("starts", frontier.starts, frontier.nodes.shape, INT32, device)
    check_tensor("ends", frontier.ends, frontier.nodes.shape, INT32, device)
    check_tensor("averages", frontier.averages, frontier.nodes.shape, FLOAT32, device)
    check_tensor("counts", frontier.counts, (rows, heads), INT32, device)
    check_tensor("changed", changed, (rows, heads, 3 * operations), INT32, device)
    check_tensor("num_changed", num_changed, (rows, heads), INT32, device)
    check_active(active, rows, device)
    for name, tensor in (
        *_tensors("the tree", tree),
        *_tensors("the frontier", frontier),
        ("changed", changed),
        ("num_changed", num_changed),
    ):
        if not tensor.is_contiguous():
            raise ValueError(f"want {name} contiguous, got strides {tensor.stride()}")
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.frontier_update import frontier_update_triton as run
    else:
        code = _machine_code()
        if code is not None:
            from murmur_kernels.compiled.frontier import frontier_update_compiled

            frontier_update_compiled(code, tree, frontier, changed, num_changed, operations, active)
            return
        from murmur_kernels.torch_ops.frontier_update import frontier_update_torch as run
    run(tree, frontier, changed, num_changed, operations, active)


def _machine_code() -> MachineCode | None:
    """None where torch's own operations do it."""
    try:
        from murmur_kernels.compiled.frontier import frontier_code
    except ImportError:  # no llvmlite for this platform
        return None
    return frontier_code()


def _tensors(owner: str, tensors: Tree | Frontier) -> list[tuple[str, torch.Tensor]]:
    return [(f"{f.name} of {owner}", getattr(tensors, f.name)) for f in fields(tensors)]
