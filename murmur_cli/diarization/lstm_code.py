"""One direction of an LSTM layer over a batch of sequences, as LLVM IR for vectors of 8 floats.

For each step, the gates of 8 units at a time are the product of [input, last output] with the
weights, for up to 6 sequences together: 12 accumulators, which with two vectors of weights and
one element fill the 16 registers. So the input products need no buffer of their own, and the
weights of 8 units stay in the first cache while all sequences use them. Each sequence's sums are
made in the order of its elements, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import FLOAT, I64, POINTER, Code, Value, lanes
from murmur_kernels.compiled.tiles import exp_below_zero

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

MAX_TILE_ROWS = 6
"""Sequences that share what is read of the weights."""

UNROLLED_INPUTS = 4

_PAIR = 2 * LANES
_PAIR_BYTES = 4 * _PAIR


def lstm_module() -> str:
    """Assembly of `void lstm(int64 *arguments)`, the names in `ARGUMENTS`."""
    module = ir.Module(ENTRY_POINT)
    tiles = [_add_tile(module, rows) for rows in range(1, MAX_TILE_ROWS + 1)]
    _Layer(module, tiles, _add_cell_update(module)).write()
    return str(module)


class _Layer(Code):
    """Loops over steps, units, pairs of gates and sequences."""

    def __init__(self, module: Any, tiles: Sequence[Any], cell_update: Any) -> None:
        super().__init__(module, ENTRY_POINT, [POINTER], public=True)
        self._tiles = tiles
        self._cell_update = cell_update
        block = self.arguments[0]
        self._named = {name: self.load_int(block, index) for index, name in enumerate(ARGUMENTS)}
        self._rows = self._named["rows"]
        # Tiles of equal sizes: one of few rows takes as long as one of 4.
        rounded = self.build.add(self._rows, I64(MAX_TILE_ROWS - 1))
        self._num_tiles = self.build.udiv(rounded, I64(MAX_TILE_ROWS))

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
        pair_bytes = build.mul(elements, I64(_PAIR_BYTES))
        weights = self.at(self._pointer("weights"), (index, pair_bytes))
        bias = self.at(self._pointer("bias"), (index, _PAIR_BYTES))

        def tile(number: Value, _: Sequence[Value]) -> list[Value]:
            first, after = (
                build.udiv(build.mul(bound, self._rows), self._num_tiles)
                for bound in (number, build.add(number, I64(1)))
            )
            input_row, output_row = named["input_row"], named["output_row"]
            self._call_tile(
                build.sub(after, first),
                [
                    *(self.at(source, (first, input_row)), input_row, named["inputs"]),
                    *(self.at(last, (first, output_row)), output_row, known),
                    *(weights, bias),
                    self.at(
                        self._pointer("gates"), (first, 2 * _PAIR_BYTES), I64(pair * _PAIR_BYTES)
                    ),
                ],
            )
            return []

        self.loop(self._num_tiles, [], tile)

    def _call_tile(self, rows: Value, arguments: Sequence[Value]) -> None:
        done = self.build.append_basic_block()
        switch = self.build.switch(rows, done)
        for size, function in enumerate(self._tiles, start=1):
            chosen = self.build.append_basic_block()
            switch.add_case(I64(size), chosen)
            self.build.position_at_end(chosen)
            self.build.call(function, arguments)
            self.build.branch(done)
        self.build.position_at_end(done)

    def _update(self, block: Value, target: Value) -> None:
        place = self.build.mul(block, I64(4 * LANES))
        cell_row = self.build.mul(self._named["hidden"], I64(4))

        def one(row: Value, _: Sequence[Value]) -> list[Value]:
            gates = self.at(self._pointer("gates"), (row, 2 * _PAIR_BYTES))
            cell = self.at(self._pointer("cells"), (row, cell_row), place)
            output = self.at(target, (row, self._named["output_row"]), place)
            self.build.call(self._cell_update, [gates, cell, output])
            return []

        self.loop(self._rows, [], one)


def _add_tile(module: Any, rows: int) -> Any:
    """(left, row stride, count; right, row stride, count; weights, bias, out).

    out[row] = bias + [left, right][row] @ weights, 16 columns; out's rows lie 32 floats apart.
    """
    parameters = [POINTER, I64, I64, POINTER, I64, I64, POINTER, POINTER, POINTER]
    code = Code(module, f"tile_{rows}", parameters)
    left, left_stride, left_count, right, right_stride, right_count = code.arguments[:6]
    weights, bias, out = code.arguments[6:]
    totals = [code.load(bias), code.load(code.at(bias, I64(4 * LANES)))] * rows
    totals = _add_products(code, left, left_stride, left_count, weights, totals)
    weights = code.at(weights, (left_count, _PAIR_BYTES))
    totals = _add_products(code, right, right_stride, right_count, weights, totals)
    for place, total in enumerate(totals):
        row, half = divmod(place, 2)
        code.store(total, code.at(out, I64(2 * _PAIR_BYTES * row + 4 * LANES * half)))
    code.build.ret_void()
    return code.function


def _add_products(
    code: Code, base: Value, stride: Value, count: Value, weights: Value, totals: list[Value]
) -> list[Value]:
    """Totals, two vectors for each row, plus the products of `count` elements of the rows."""
    rows = [code.at(base, (stride, row)) for row in range(len(totals) // 2)]

    def some(index: Value, carried: list[Value]) -> list[Value]:
        totals = list(carried)
        for part in range(UNROLLED_INPUTS):
            offset = (index, _PAIR_BYTES * UNROLLED_INPUTS)
            place = code.at(weights, offset, I64(_PAIR_BYTES * part))
            low, high = code.load(place), code.load(code.at(place, I64(4 * LANES)))
            for number, row in enumerate(rows):
                address = code.at(row, (index, 4 * UNROLLED_INPUTS), I64(4 * part))
                element = code.spread(code.build.load(address, align=4, typ=FLOAT))
                totals[2 * number] = code.fma(element, low, totals[2 * number])
                totals[2 * number + 1] = code.fma(element, high, totals[2 * number + 1])
        return totals

    return code.loop(code.build.udiv(count, I64(UNROLLED_INPUTS)), totals, some)


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
