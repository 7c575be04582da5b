"""Products of rows with a matrix in LLVM IR: up to 6 rows and 16 columns at a time.

12 accumulators, which with two vectors of weights and one element fill the 16 registers, so that
two of three reads are of an element that all columns share. Each row's sums are made in the order
of its elements, whatever the rows beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import FLOAT, I64, POINTER, Code, Value

PAIR = 2 * LANES
"""Columns that are found together: two vectors."""

PAIR_BYTES = 4 * PAIR

UNROLLED = 4
"""Elements of a row per turn of the loop; the length of a row is a multiple of it."""

_MAX_ROWS = 6


class Operand(NamedTuple):
    """Rows: address of the first, bytes to the next, elements to use of each."""

    base: Value
    stride: Value
    count: Value


class Target(NamedTuple):
    """Where rows go: address of the first, bytes to the next."""

    base: Value
    stride: Value


class RowTiles:
    """target[row] = bias + [left, right][row] @ weights, for 16 columns."""

    def __init__(self, module: Any) -> None:
        self._functions = [_add_tile(module, rows) for rows in range(1, _MAX_ROWS + 1)]

    def product(
        self,
        code: Code,
        rows: Value,
        left: Operand,
        right: Operand,
        weights: Value,
        bias: Value,
        target: Target,
    ) -> None:
        """Write a loop over all rows. weights: (elements, 16); bias: (16,)."""
        build = code.build
        # Tiles of equal sizes: one of few rows takes as long as one of 4.
        count = build.udiv(build.add(rows, I64(_MAX_ROWS - 1)), I64(_MAX_ROWS))

        def tile(number: Value, _: Sequence[Value]) -> list[Value]:
            first, after = (
                build.udiv(build.mul(bound, rows), count)
                for bound in (number, build.add(number, I64(1)))
            )
            places = [
                part._replace(base=code.at(part.base, (first, part.stride)))
                for part in (left, right, target)
            ]
            arguments = [*places[0], *places[1], weights, bias, *places[2]]
            self._call(code, build.sub(after, first), arguments)
            return []

        code.loop(count, [], tile)

    def _call(self, code: Code, rows: Value, arguments: Sequence[Value]) -> None:
        build = code.build
        done = build.append_basic_block()
        switch = build.switch(rows, done)
        for size, function in enumerate(self._functions, start=1):
            chosen = build.append_basic_block()
            switch.add_case(I64(size), chosen)
            build.position_at_end(chosen)
            build.call(function, arguments)
            build.branch(done)
        build.position_at_end(done)


def _add_tile(module: Any, rows: int) -> Any:
    """(left, right, weights, bias, target), operands and target by their fields."""
    operand = [POINTER, I64, I64]
    code = Code(module, f"tile_{rows}", [*operand, *operand, POINTER, POINTER, POINTER, I64])
    left, right = Operand(*code.arguments[:3]), Operand(*code.arguments[3:6])
    weights, bias = code.arguments[6:8]
    target = Target(*code.arguments[8:])
    totals = [code.load(bias), code.load(code.at(bias, I64(4 * LANES)))] * rows
    totals = _add_products(code, left, weights, totals)
    weights = code.at(weights, (left.count, PAIR_BYTES))
    totals = _add_products(code, right, weights, totals)
    for place, total in enumerate(totals):
        row, half = divmod(place, 2)
        code.store(total, code.at(target.base, (target.stride, row), I64(4 * LANES * half)))
    code.build.ret_void()
    return code.function


def _add_products(code: Code, operand: Operand, weights: Value, totals: list[Value]) -> list[Value]:
    """Totals, two vectors for each row, plus the products of the rows' elements."""
    rows = [code.at(operand.base, (operand.stride, row)) for row in range(len(totals) // 2)]

    def some(index: Value, carried: list[Value]) -> list[Value]:
        totals = list(carried)
        for part in range(UNROLLED):
            place = code.at(weights, (index, PAIR_BYTES * UNROLLED), I64(PAIR_BYTES * part))
            low, high = code.load(place), code.load(code.at(place, I64(4 * LANES)))
            for number, row in enumerate(rows):
                address = code.at(row, (index, 4 * UNROLLED), I64(4 * part))
                element = code.spread(code.build.load(address, align=4, typ=FLOAT))
                totals[2 * number] = code.fma(element, low, totals[2 * number])
                totals[2 * number + 1] = code.fma(element, high, totals[2 * number + 1])
        return totals

    return code.loop(code.build.udiv(operand.count, I64(UNROLLED)), totals, some)


def read_arguments(code: Code, names: Sequence[str]) -> dict[str, Value]:
    """The int64 numbers that the function's one argument points to, by their names."""
    block = code.arguments[0]
    return {
        name: code.build.load(code.at(block, (I64(index), 8)), align=8, typ=I64)
        for index, name in enumerate(names)
    }
