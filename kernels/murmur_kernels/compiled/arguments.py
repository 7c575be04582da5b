"""The arguments of decode attention."""

from __future__ import annotations

from murmur_kernels.compiled.argument_block import BlockLayout

ATTENTION = BlockLayout(
    "AttentionArguments",
    numbers=(
        "kv_heads",
        "group",
        "scale",  # the bits of a float32
        "num_slots",
        "num_places",
        "capacity",
        "max_terms",
        "ranges_room",
        "head_ranges_room",
        "indices_room",
        "summaries_room",
        "probes",
        "at_entries",
        "keys_offset",
        "values_offset",
        "scores_offset",
        "scores_stride",
        "choose",
        "choice",
        "in_time",
        "permuted",
    ),
    tensors={
        "query": 0,
        "out": 0,
        "sums": 0,
        "keys": 3,
        "values": 3,
        "slots": 1,
        "active": 1,
        "places": 1,
        "ranges": 1,
        "num_ranges": 1,
        "head_ranges": 2,
        "num_head_ranges": 2,
        "indices": 2,
        "num_indices": 2,
        "mean_keys": 3,
        "mean_values": 3,
        "log_counts": 3,
        "counts": 2,
        "deviations": 3,
        "tilts": 2,
        "probe_heads": 0,
        "probabilities": 1,
        "first_entries": 1,
        "permutation": 2,
        "span_starts": 2,
        "span_ends": 2,
    },
)
"""`sums` is 0 when they are not wanted, `places` when row r lies at r. Of kinds of terms that
there are none of only the counts are read. `choose` is the address of a function that chooses
head ranges and the weights of summaries before a task reads them, `choice` that of its arguments;
0: they are there. Probabilities are `in_time`
where that is 1; then the last four tensors are those of a `TermTrace`, of which `permuted` places
are moved."""
