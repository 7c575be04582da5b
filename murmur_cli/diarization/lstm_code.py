"""One direction of an LSTM layer over a batch of sequences, as LLVM IR for vectors of 8 floats.

For each step, the gates of 8 units at a time are the product of [input, last output] with the
weights, for all sequences. So the input products need no buffer of their own, and the weights of
8 units stay in the cache while all sequences use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from murmur_cli.diarization.row_tiles import PAIR_BYTES, Operand, RowTiles, Target, read_arguments
from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import I64, POINTER, Code, Value, lanes
from murmur_kernels.compiled.softmax import exp_below_zero

ENTRY_POINT = "lstm"

ARGUMENTS = (
    *("rows", "steps", "inputs", "hidden"),
    *("input", "input_row", "input_step"),
    *("output", "output_row", "output_step"),
    *("weights", "bias", "cells", "gates"),
)
"""int64 each. rows: sequences; inputs, hidden: elements of one step, multiples of 4 and 8.
input, output: address of the first step, with the bytes from sequence to sequence and from step
to step (negative: backward). weights: (hidden / 8, 2, inputs + hidden, 16), the columns input and
forget gate, then cell and output gate, of 8 units; bias: (hidden / 8, 2, 16). cells: (rows,
hidden), zero at first. gates: scratch, (rows, 32)."""

GATES = 4
"""Input, forget, cell and output gate, as torch orders them."""


def lstm_module() -> str:
    """Assembly of `void lstm(int64 *arguments)`, the names in `ARGUMENTS`."""
    module = ir.Module(ENTRY_POINT)
    _Layer(module, RowTiles(module), _add_cell_update(module)).write()
    return str(module)


class _Layer(Code):
    """Loops over steps, units, pairs of gates and sequences."""

    def __init__(self, module: Any, tiles: RowTiles, cell_update: Any) -> None:
        super().__init__(module, ENTRY_POINT, [POINTER], public=True)
        self._tiles = tiles
        self._cell_update = cell_update
        self._named = read_arguments(self, ARGUMENTS)
        self._rows = self._named["rows"]

    def write(self) -> None:
        self.loop(self._named["steps"], [], self._step)
        self.build.ret_void()

    def _pointer(self, name: str) -> Value:
        return self.build.inttoptr(self._named[name], POINTER)

    def _step(self, time: Value, _: Sequence[Value]) -> list[Value]:
        source = self.at(self._pointer("input"), (time, self._named["input_step"]))
        target = self.at(self._pointer("output"), (time, self._named["output_step"]))
        last = self.at(target, self.build.neg(self._named["output_step"]))
        hidden = self._named["hidden"]
        # Before the first step the output is zero: its products are left out.
        is_first = self.build.icmp_signed("==", time, I64(0))
        known = self.build.select(is_first, I64(0), hidden)

        def units(block: Value, _: Sequence[Value]) -> list[Value]:
            for pair in range(2):
                self._gates(block, pair, source, last, known)
            self._update(block, target)
            return []

        self.loop(self.build.udiv(hidden, I64(LANES)), [], units)
        return []

    def _gates(self, block: Value, pair: int, source: Value, last: Value, known: Value) -> None:
        """Two gates of 8 units for all sequences."""
        build, named = self.build, self._named
        index = build.add(build.mul(block, I64(2)), I64(pair))
        elements = build.add(named["inputs"], named["hidden"])
        pair_bytes = build.mul(elements, I64(PAIR_BYTES))
        weights = self.at(self._pointer("weights"), (index, pair_bytes))
        bias = self.at(self._pointer("bias"), (index, PAIR_BYTES))

        self._tiles.product(
            self,
            self._rows,
            Operand(source, named["input_row"], named["inputs"]),
            Operand(last, named["output_row"], known),
            weights,
            bias,
            Target(self.at(self._pointer("gates"), I64(pair * PAIR_BYTES)), I64(2 * PAIR_BYTES)),
        )

    def _update(self, block: Value, target: Value) -> None:
        place = self.build.mul(block, I64(4 * LANES))
        cell_row = self.build.mul(self._named["hidden"], I64(4))

        def one(row: Value, _: Sequence[Value]) -> list[Value]:
            gates = self.at(self._pointer("gates"), (row, 2 * PAIR_BYTES))
            cell = self.at(self._pointer("cells"), (row, cell_row), place)
            output = self.at(target, (row, self._named["output_row"]), place)
            self.build.call(self._cell_update, [gates, cell, output])
            return []

        self.loop(self._rows, [], one)


def _add_cell_update(module: Any) -> Any:
    """(gates, cell, output): 8 units of one sequence."""
    code = Code(module, "cell_update", [POINTER, POINTER, POINTER])
    gates, cell, output = code.arguments
    enter, forget, new, leave = (
        code.load(code.at(gates, I64(4 * LANES * i))) for i in range(GATES)
    )
    kept = code.build.fmul(_sigmoid(code, forget), code.load(cell))
    state = code.fma(_sigmoid(code, enter), _tanh(code, new), kept)
    code.store(state, cell)
    code.store(code.build.fmul(_sigmoid(code, leave), _tanh(code, state)), output)
    code.build.ret_void()
    return code.function


def _sigmoid(code: Code, value: Value) -> Value:
    build = code.build
    small = exp_below_zero(code, _negative(code, value))
    numerator = build.select(build.fcmp_ordered("<", value, lanes(0.0)), small, lanes(1.0))
    return build.fdiv(numerator, build.fadd(small, lanes(1.0)))


def _tanh(code: Code, value: Value) -> Value:
    build = code.build
    size = _negative(code, value)
    small = exp_below_zero(code, build.fadd(size, size))
    result = build.fdiv(build.fsub(lanes(1.0), small), build.fadd(lanes(1.0), small))
    return build.select(build.fcmp_ordered("<", value, lanes(0.0)), build.fneg(result), result)


def _negative(code: Code, value: Value) -> Value:
    """-|value|."""
    build = code.build
    below = build.fcmp_ordered("<", value, lanes(0.0))
    return build.select(below, value, build.fneg(value))
