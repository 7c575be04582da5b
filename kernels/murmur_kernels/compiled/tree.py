"""Makes trees by machine code: module, argument block, scratch, threads."""

from __future__ import annotations

import functools

import torch
from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import CACHE_LINE_BYTES
from murmur_kernels.compiled.machine_code import MachineCode, made_here
from murmur_kernels.compiled.program import add_program
from murmur_kernels.compiled.team import run_on_team, team_size
from murmur_kernels.compiled.tree_arguments import TREE
from murmur_kernels.compiled.tree_task import add_tree_task, scratch_bytes

ENTRY_POINT = "murmur_tree_order"


@functools.cache
def tree_code(head_dim: int, dtype: torch.dtype, cosine: bool) -> MachineCode | None:
    """Made at the first call; None where it cannot be made."""

    def module() -> str:
        whole = ir.Module(ENTRY_POINT)
        task = add_tree_task(whole, "tree", head_dim, dtype, cosine=cosine)
        add_program(whole, ENTRY_POINT, task, TREE)
        return str(whole)

    return made_here(module, ENTRY_POINT)


def grow_trees(
    code: MachineCode,
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    permutation: torch.Tensor,
    tables: dict[str, torch.Tensor],
    *,
    leaf_size: int,
    levels: int,
    iterations: int,
    seed: int,
) -> None:
    """Fill permutation (rows, kv_heads, places) and the node tables of `tree_order`.

    permutation: the entries in their order; tables: zeros, by the names of TREE.
    """
    rows, heads, places = permutation.shape
    threads = team_size(rows * heads)
    list_bytes = _up(4 * (places + LANES))
    stride = _up(scratch_bytes(keys.shape[3], places, list_bytes))
    scratch = torch.empty(threads, stride, dtype=torch.uint8)
    given = {"keys": keys, "slots": slots, "starts": starts, "lengths": lengths}
    addresses: dict[str, int] = {}
    for name, tensor in {**given, "permutation": permutation, **tables}.items():
        addresses |= TREE.tensor_arguments(name, tensor)
    block = TREE.block(
        **addresses,
        tasks=rows * heads,
        kv_heads=heads,
        leaf_size=leaf_size,
        levels=levels,
        iterations=iterations,
        seed=seed,
        list_bytes=list_bytes,
        scratch=scratch.data_ptr(),
        scratch_stride=stride,
    )
    run_on_team(code, block, threads)


def _up(size: int) -> int:
    return -(-size // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
