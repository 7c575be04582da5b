"""What the machine code is told: one block of 64-bit integers, by name on both sides."""

from __future__ import annotations

import ctypes
from typing import Any

from murmur_kernels.compiled.code import I64, POINTER, Code, Value

COUNTERS = ("next_worker", "next_task", "faults")
"""Start at 0. Threads count up the first two; the third is not 0 if a selection does not fit."""

NUMBERS = (
    "tasks",
    "kv_heads",
    "group",
    "scale",  # the bits of a float32
    "num_slots",
    "capacity",
    "max_terms",
    "ranges_room",
    "head_ranges_room",
    "indices_room",
    "summaries_room",
    "probes",
    "at_entries",
    "scratch_stride",
    "keys_offset",
    "values_offset",
    "scores_offset",
    "scores_stride",
)

TENSORS = {
    "query": 0,
    "out": 0,
    "sums": 0,
    "keys": 3,
    "values": 3,
    "slots": 1,
    "active": 1,
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
    "probe_heads": 0,
    "probabilities": 1,
    "scratch": 0,
}
"""Addresses, and how many strides in bytes follow each, those of its first axes. `sums` is 0 when
they are not wanted. Of kinds of terms that there are none of only the counts are read."""


FIELDS = {
    name: (name, *(f"{name}_stride_{axis}" for axis in range(axes)))
    for name, axes in TENSORS.items()
}
"""Names of a tensor's address and strides in the block."""


class ArgumentBlock(ctypes.Structure):
    """The arguments, all 64-bit integers."""

    _fields_ = tuple(
        (name, ctypes.c_int64)
        for name in (*COUNTERS, *NUMBERS, *(name for names in FIELDS.values() for name in names))
    )


class Arguments:
    """Reads the block at address `block` in the function that `code` writes."""

    def __init__(self, code: Code, block: Value) -> None:
        self._code = code
        self._block = block

    def place(self, name: str) -> Value:
        """Where the argument itself lies."""
        field: Any = getattr(ArgumentBlock, name)
        return self._code.at(self._block, I64(field.offset))

    def number(self, name: str) -> Value:
        """An int64."""
        return self._code.build.load(self.place(name), align=8, typ=I64)

    def address(self, name: str, *indices: Value) -> Value:
        """Where element `indices` of the first axes of a tensor lies."""
        assert len(indices) <= TENSORS[name], name
        terms = [(index, self.stride(name, axis)) for axis, index in enumerate(indices)]
        base = self._code.build.inttoptr(self.number(name), POINTER)
        return self._code.at(base, *terms)

    def stride(self, name: str, axis: int) -> Value:
        """Bytes from one element of an axis to the next."""
        return self.number(FIELDS[name][1 + axis])
