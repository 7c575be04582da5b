"""The arguments of the making of trees."""

from __future__ import annotations

from murmur_kernels.compiled.argument_block import BlockLayout

TREE = BlockLayout(
    "TreeArguments",
    numbers=("kv_heads", "leaf_size", "levels", "iterations", "seed", "list_bytes"),
    tensors={
        "keys": 3,
        "slots": 1,
        "starts": 1,
        "lengths": 1,
        "permutation": 2,
        "node_starts": 2,
        "node_ends": 2,
        "left_children": 2,
        "parents": 2,
        "node_counts": 2,
    },
)
"""`list_bytes` from one list of a thread's scratch memory to the next, each of a number for each
place and 8 more."""
