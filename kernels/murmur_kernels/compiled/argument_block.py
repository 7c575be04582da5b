"""What machine code is told: one block of 64-bit integers, by name on both sides."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from murmur_kernels.compiled.code import FLOAT, I32, I64, POINTER, Code, Value

COUNTERS = ("next_worker", "next_task", "faults")
"""Start at 0. Threads count up the first two; the third is not 0 if what was selected does not
fit. `program` reads `tasks`, `scratch` and `scratch_stride`, which every layout has beside them."""

PROGRAM_NUMBERS = ("tasks", "scratch_stride")
PROGRAM_TENSORS = {"scratch": 0}


class BlockLayout:
    """Names and places of the arguments of one kernel.

    Attributes:
        tensors: addresses, and how many strides in bytes follow each, those of its first axes.
        block: the ctypes structure.
    """

    def __init__(self, name: str, numbers: Sequence[str], tensors: Mapping[str, int]) -> None:
        self.tensors = PROGRAM_TENSORS | dict(tensors)
        self._names = {
            tensor: (tensor, *(f"{tensor}_stride_{axis}" for axis in range(axes)))
            for tensor, axes in self.tensors.items()
        }
        parts = (part for names in self._names.values() for part in names)
        fields = [(n, ctypes.c_int64) for n in (*COUNTERS, *PROGRAM_NUMBERS, *numbers, *parts)]
        self.block: type[ctypes.Structure] = type(name, (ctypes.Structure,), {"_fields_": fields})

    def offset(self, name: str) -> int:
        """Bytes from the start of the block to an argument."""
        field: Any = getattr(self.block, name)
        return int(field.offset)

    def stride_name(self, tensor: str, axis: int) -> str:
        """The argument that is a tensor's stride."""
        return self._names[tensor][1 + axis]

    def tensor_arguments(self, name: str, tensor: torch.Tensor) -> dict[str, int]:
        """A tensor's address, and the strides in bytes that the layout has of it."""
        size = tensor.element_size()
        strides = [size * stride for stride in tensor.stride()]
        return dict(zip(self._names[name], (tensor.data_ptr(), *strides), strict=False))


class Arguments:
    """Reads the block at address `block` in the function that `code` writes."""

    def __init__(self, code: Code, block: Value, layout: BlockLayout) -> None:
        self._code = code
        self._block = block
        self._layout = layout

    def place(self, name: str) -> Value:
        """Where the argument itself lies."""
        return self._code.at(self._block, I64(self._layout.offset(name)))

    def number(self, name: str) -> Value:
        """An int64."""
        return self._code.build.load(self.place(name), align=8, typ=I64)

    def float(self, name: str) -> Value:
        """A float32, whose bits are the lower half of an integer."""
        return self._code.build.bitcast(self._code.build.trunc(self.number(name), I32), FLOAT)

    def address(self, name: str, *indices: Value) -> Value:
        """Where element `indices` of the first axes of a tensor lies."""
        assert len(indices) <= self._layout.tensors[name], name
        terms = [(index, self.stride(name, axis)) for axis, index in enumerate(indices)]
        base = self._code.build.inttoptr(self.number(name), POINTER)
        return self._code.at(base, *terms)

    def stride(self, name: str, axis: int) -> Value:
        """Bytes from one element of an axis to the next."""
        return self.number(self._layout.stride_name(name, axis))
