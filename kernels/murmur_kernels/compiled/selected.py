"""What the machine code is told of a selection: where its tensors lie."""

from __future__ import annotations

import ctypes

from murmur_kernels.compiled.arguments import ATTENTION
from murmur_kernels.ranges import MAX_RANGES, TABLE_COLUMNS, StepRanges
from murmur_kernels.selection import Selection

NONE = ctypes.c_int32(0)
"""The count, read with strides of 0, of a kind of terms that there is none of."""

ALWAYS = ctypes.c_bool(True)
"""Read as `active` of every row."""


def step_arguments(step: StepRanges) -> dict[str, int]:
    """Of ranges of the host: the columns of their table."""
    first, row_bytes = ctypes.addressof(step.table), 4 * TABLE_COLUMNS
    nothing = ctypes.addressof(NONE)
    return {
        "slots": first,
        "slots_stride_0": row_bytes,
        "active": ctypes.addressof(ALWAYS),
        "num_ranges": first + 4,
        "num_ranges_stride_0": row_bytes,
        "ranges": first + 8,
        "ranges_stride_0": row_bytes,
        "ranges_room": MAX_RANGES,
        "num_head_ranges": nothing,
        "num_indices": nothing,
        "counts": nothing,
        "num_places": len(step.slots),
    }


def selection_arguments(selection: Selection) -> dict[str, int]:
    """Of a selection: its tensors, and the room that each kind of terms has in them.

    Worked out once: what the tensors hold may change, where they lie does not.
    """
    if not selection.addresses:
        selection.addresses.update(_arguments(selection))
    return selection.addresses


def _arguments(selection: Selection) -> dict[str, int]:
    tensor_arguments = ATTENTION.tensor_arguments
    found = {
        **tensor_arguments("slots", selection.slots),
        **tensor_arguments("active", selection.active),
        **tensor_arguments("ranges", selection.ranges),
        **tensor_arguments("num_ranges", selection.num_ranges),
        "ranges_room": selection.ranges.shape[1],
        "num_places": selection.num_places,
    }
    if selection.places is not None:
        found |= tensor_arguments("places", selection.places)
    nothing = ctypes.addressof(NONE)
    for name, items, counts in (
        ("head_ranges", selection.head_ranges, selection.num_head_ranges),
        ("indices", selection.indices, selection.num_indices),
    ):
        if items is None or counts is None:
            found[f"num_{name}"] = nothing
        else:
            found |= tensor_arguments(name, items) | tensor_arguments(f"num_{name}", counts)
            found[f"{name}_room"] = items.shape[2]
    means = selection.summaries
    if means is None:
        found["counts"] = nothing
    else:
        found |= tensor_arguments("mean_keys", means.keys)
        found |= tensor_arguments("mean_values", means.values)
        found |= tensor_arguments("log_counts", means.log_counts)
        found |= tensor_arguments("counts", means.counts)
        found["summaries_room"] = means.keys.shape[2]
        if means.second_order is not None:
            found |= tensor_arguments("deviations", means.second_order.deviations)
            found |= tensor_arguments("tilts", means.second_order.tilts)
    return found
