"""The arguments of the choice of groups."""

from __future__ import annotations

from murmur_kernels.compiled.argument_block import BlockLayout

CHOICE = BlockLayout(
    "ChoiceArguments",
    numbers=(
        "kv_heads",
        "group",
        "num_slots",
        "vectors",
        "ranges_room",
        # the bits of float32
        "scale",
        "weight",
        "decay",
        "reach",
    ),
    tensors={
        "query": 0,
        "places": 1,
        "due": 0,
        "fresh": 0,
        "starts": 2,
        "ends": 2,
        "log_sizes": 2,
        "low": 3,
        "high": 3,
        "budgets": 2,
        "first_entries": 1,
        "averages": 2,
        "ranges": 2,
        "num_ranges": 2,
        "entries_read": 2,
        "log_counts": 2,
        "deviations": 2,
    },
)
"""Names of a state's tensors are those of `GroupState`; `vectors` of LANES groups have room."""
