"""One direction of an LSTM layer over a batch of sequences, as LLVM IR for vectors of 8 floats.

For each step, the gates of 8 units at a time are the product of [input, last output] with the
weights, for up to 6 sequences together: 12 accumulators, which with two vectors of weights and
one element fill the 16 registers. So the input products need no buffer of their own, and the
weights of 8 units stay in the first cache while all sequences use them. Each sequence's sums are
made in the order of its elements, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import FLOAT, I64, POINTER, VECTOR, Code, Value, lanes
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

MAX_TILE_ROWS = 6

_PAIR = 2 * LANES
_UNROLLED = 4


def lstm_module() -> str:
    """Assembly of `void lstm(int64 *arguments)`, the names in `ARGUMENTS`."""
    module = ir.Module(ENTRY_POINT)
    tiles = [_add_tile(module, rows) for rows in range(1, MAX_TILE_ROWS + 1)]
    cell_update = _add_cell_update(module)
    code = Code(module, ENTRY_POINT, [POINTER], public=True)
    build = code.build
    named = {name: code.load_int(code.arguments[0], i) for i, name in enumerate(ARGUMENTS)}

    def pointer(name: str) -> Value:
        return build.inttoptr(named[name], POINTER)

    rows, inputs, hidden = named["rows"], named["inputs"], named["hidden"]
    weights, bias, cells, gates = map(pointer, ("weights", "bias", "cells", "gates"))
    pair_bytes = build.mul(build.add(inputs, hidden), I64(4 * _PAIR))
    num_tiles = build.udiv(build.add(rows, I64(MAX_TILE_ROWS - 1)), I64(MAX_TILE_ROWS))

    def step(time: Value, _: Sequence[Value]) -> list[Value]:
        source = code.at(pointer("input"), (time, named["input_step"]))
        target = code.at(pointer("output"), (time, named["output_step"]))
        last = code.at(target, build.neg(named["output_step"]))
        # Before the first step the output is zero: its products are left out.
        known = build.select(build.icmp_signed("==", time, I64(0)), I64(0), hidden)

        def block(unit: Value, _: Sequence[Value]) -> list[Value]:
            for pair in range(2):
                index = build.add(build.mul(unit, I64(2)), I64(pair))
                of_pair = code.at(weights, (index, pair_bytes))
                bias_of_pair = code.at(bias, (index, 4 * _PAIR))

                def tile(number: Value, _: Sequence[Value], first_column: int = pair * _PAIR,
                         of_pair=of_pair, bias_of_pair=bias_of_pair) -> list[Value]:
                    first = build.udiv(build.mul(number, rows), num_tiles)
                    after = build.udiv(build.mul(build.add(number, I64(1)), rows), num_tiles)
                    arguments = [
                        *(code.at(source, (first, named["input_row"])), named["input_row"], inputs),
                        *(code.at(last, (first, named["output_row"])), named["output_row"], known),
                        *(of_pair, bias_of_pair),
                        code.at(gates, (first, 8 * _PAIR), I64(4 * first_column)),
                    ]
                    size = build.sub(after, first)
                    done = build.append_basic_block()
                    switch = build.switch(size, done)
                    for tile_rows, function in enumerate(tiles, start=1):
                        chosen = build.append_basic_block()
                        switch.add_case(I64(tile_rows), chosen)
                        build.position_at_end(chosen)
                        build.call(function, arguments)
                        build.branch(done)
                    build.position_at_end(done)
                    return []

                code.loop(num_tiles, [], tile)

            def update(row: Value, _: Sequence[Value]) -> list[Value]:
                place = build.mul(unit, I64(4 * LANES))
                build.call(cell_update, [
                    code.at(gates, (row, 8 * _PAIR)),
                    code.at(cells, (row, build.mul(hidden, I64(4))), place),
                    code.at(target, (row, named["output_row"]), place),
                ])
                return []

            code.loop(rows, [], update)
            return []

        code.loop(build.udiv(hidden, I64(LANES)), [], block)
        return []

    code.loop(named["steps"], [], step)
    build.ret_void()
    return str(module)


def _add_tile(module: Any, rows: int) -> Any:
    """(left, row stride, count; right, row stride, count; weights, bias, out).

    out[row] = bias + [left, right][row] @ weights, 16 columns; out's rows lie 32 floats apart.
    """
    name = f"tile{rows}"
    code = Code(module, name, [POINTER, I64, I64, POINTER, I64, I64, POINTER, POINTER, POINTER])
    left, left_stride, left_count, right, right_stride, right_count = code.arguments[:6]
    weights, bias, out = code.arguments[6:]

    def product(base: Value, stride: Value, count: Value, weights: Value, totals: list[Value]):
        addresses = [code.at(base, (stride, row)) for row in range(rows)]

        def few(index: Value, totals: Sequence[Value]) -> list[Value]:
            totals = list(totals)
            for part in range(_UNROLLED):
                place = code.at(weights, (index, 4 * _PAIR * _UNROLLED), I64(4 * _PAIR * part))
                low, high = code.load(place), code.load(code.at(place, I64(4 * LANES)))
                for row, address in enumerate(addresses):
                    element = code.at(address, (index, 4 * _UNROLLED), I64(4 * part))
                    value = code.spread(code.build.load(element, align=4, typ=FLOAT))
                    totals[2 * row] = code.fma(value, low, totals[2 * row])
                    totals[2 * row + 1] = code.fma(value, high, totals[2 * row + 1])
            return totals

        return code.loop(code.build.udiv(count, I64(_UNROLLED)), totals, few)

    totals = [code.load(bias), code.load(code.at(bias, I64(4 * LANES)))] * rows
    totals = product(left, left_stride, left_count, weights, totals)
    weights_right = code.at(weights, (left_count, 4 * _PAIR))
    totals = product(right, right_stride, right_count, weights_right, totals)
    for row in range(rows):
        for half in range(2):
            code.store(totals[2 * row + half], code.at(out, I64(8 * _PAIR * row + 4 * LANES * half)))
    code.build.ret_void()
    return code.function


def _add_cell_update(module: Any) -> Any:
    """(gates, cell, output): 8 units of one sequence."""
    code = Code(module, "cell_update", [POINTER, POINTER, POINTER])
    gates, cell, output = code.arguments
    build = code.build
    enter, forget, new, leave = (code.load(code.at(gates, I64(4 * LANES * i))) for i in range(4))
    kept = build.fmul(_sigmoid(code, forget), code.load(cell))
    state = code.fma(_sigmoid(code, enter), _tanh(code, new), kept)
    code.store(state, cell)
    code.store(build.fmul(_sigmoid(code, leave), _tanh(code, state)), output)
    build.ret_void()
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
