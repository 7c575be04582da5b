"""Scores of groups for the query heads of a task: tiles of eight groups, as `add_scores` has them.

All formulas are sums over the columns c of an entry, of a[c] low[c] and of b[c] times high[c] or
its square; a and b are made of the query once. 'minmax' takes the larger of two products. What
deviations of keys add is added to the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.argument_block import Arguments
from murmur_kernels.compiled.choice_arguments import CHOICE
from murmur_kernels.compiled.code import I64, POINTER, Code, Value, lanes
from murmur_kernels.group_choice import ChoiceKind
from murmur_kernels.selection import MOST_GAIN


def add_group_scores(module: Any, name: str, kind: ChoiceKind) -> Any:
    """(arguments, number, slot, kv_head, queries, scores).

    Writes a score for each group, the largest or the sum over the query heads of task `number`.
    queries: room for two of them.
    """
    code = _GroupScores(module, name, kind)
    code.loop(code.given.number("group"), [], code.head)
    code.build.ret_void()
    return code.function


class _GroupScores(Code):
    """The function while it is written."""

    def __init__(self, module: Any, name: str, kind: ChoiceKind) -> None:
        super().__init__(module, name, [POINTER, I64, I64, I64, POINTER, POINTER])
        block, self._number, self._slot, self._kv_head, self._first, self._scores = self.arguments
        self.given = Arguments(self, block, CHOICE)
        self._kind = kind
        self._second = self.at(self._first, I64(4 * kind.head_dim))
        self._columns = range(0, kind.head_dim, LANES)
        self._length: Value = lanes(0.0)

    def head(self, index: Value, _: Sequence[Value]) -> list[Value]:
        """Score all groups for one query head."""
        build = self.build
        number = build.add(build.mul(self._number, self.given.number("group")), index)
        self._derive(self.at(self.given.address("query"), (number, 4 * self._kind.head_dim)))
        is_first = build.icmp_signed("==", index, I64(0))

        def tile(index: Value, _: Sequence[Value]) -> list[Value]:
            place = self.at(self._scores, (index, 4 * LANES))
            before, value = self.load(place), self._tile(build.mul(index, I64(LANES)))
            if self._kind.spread:
                value = build.fadd(value, self._of_spread(index))
            if self._kind.reduce == "max":
                joined = build.select(build.fcmp_ordered(">", before, value), before, value)
            else:
                joined = build.fadd(before, value)
            self.store(build.select(is_first, value, joined), place)
            return []

        self.loop(self.given.number("vectors"), [], tile)
        return []

    def _derive(self, query: Value) -> None:
        """Write a and b; note the query's length where it is needed."""
        build, dim, formula = self.build, self._kind.head_dim, self._kind.formula
        loaded = [self.load(self.at(query, I64(4 * column))) for column in self._columns]
        if formula in ("cosine", "norm") or self._kind.spread:
            squares: Value = lanes(0.0)
            for part in loaded:
                squares = self.fma(part, part, squares)
            # All eight sums are of the same vector, so every lane holds it.
            self._length = self.root(self.sums([squares] * LANES))
        weight = self.spread(self.given.float("weight"))
        scale = self.spread(self.given.float("scale"))
        for column, part in zip(self._columns, loaded, strict=True):
            left, right = part, None
            if formula == "dot":
                left = build.fmul(part, scale)
            elif formula == "deviation":
                right = build.fmul(weight, self.magnitude(part))
            elif formula == "norm":
                right = build.fmul(build.fmul(weight, self._length), lanes(1 / dim))
            elif formula == "second_order":
                left = build.fmul(part, lanes(1 / math.sqrt(dim)))
                right = build.fmul(build.fmul(part, part), build.fmul(weight, lanes(0.5 / dim)))
            self.store(left, self.at(self._first, I64(4 * column)))
            if right is not None:
                self.store(right, self.at(self._second, I64(4 * column)))

    def _tile(self, first: Value) -> Value:
        """Scores of eight groups."""
        low = self.given.address("low", self._slot, self._kv_head, first)
        lows = [self._entry("low", low, entry) for entry in range(LANES)]
        highs = []
        if self._kind.formula not in ("cosine", "dot"):
            high = self.given.address("high", self._slot, self._kv_head, first)
            highs = [self._entry("high", high, entry) for entry in range(LANES)]
        totals: list[Value] = [lanes(0.0)] * LANES
        for column in self._columns:
            for entry in range(LANES):
                totals[entry] = self._add(totals[entry], column, entry, lows, highs)
        found = self.sums(totals)
        return self._by_length(found, lows) if self._kind.formula == "cosine" else found

    def _of_spread(self, index: Value) -> Value:
        """What the deviations of eight groups add."""
        build = self.build
        scale = self.magnitude(self.spread(self.given.float("scale")))
        deviations = self.given.address("deviations", self._slot, self._kv_head)
        found = self.load(self.at(deviations, (index, 4 * LANES)))
        steps = build.fmul(build.fmul(scale, self._length), found)
        gain = build.fmul(lanes(0.5), build.fmul(steps, steps))
        most = lanes(MOST_GAIN)
        gain = build.select(build.fcmp_ordered("<", gain, most), gain, most)
        return self.fma(self.spread(self.given.float("reach")), steps, gain)

    def _entry(self, name: str, first: Value, entry: int) -> Value:
        return self.at(first, (self.given.stride(name, 2), entry))

    def _low(self, address: Value, column: int) -> Value:
        size = self._kind.dtype.itemsize
        return self.load_wide(self.at(address, I64(size * column)), self._kind.dtype)

    def _add(
        self, total: Value, column: int, entry: int, lows: list[Value], highs: list[Value]
    ) -> Value:
        build = self.build
        left = self.load(self.at(self._first, I64(4 * column)))
        low = self._low(lows[entry], column)
        if not highs:
            return self.fma(left, low, total)
        high = self.load(self.at(highs[entry], I64(4 * column)))
        if self._kind.formula == "minmax":
            one, other = build.fmul(left, low), build.fmul(left, high)
            larger = build.select(build.fcmp_ordered(">", one, other), one, other)
            return build.fadd(total, larger)
        right = self.load(self.at(self._second, I64(4 * column)))
        if self._kind.formula == "second_order":
            high = build.fmul(high, high)
        return self.fma(right, high, self.fma(left, low, total))

    def _by_length(self, found: Value, lows: list[Value]) -> Value:
        """Products over both lengths; 0 where one of them is 0."""
        build = self.build
        squares: list[Value] = [lanes(0.0)] * LANES
        for column in self._columns:
            for entry in range(LANES):
                low = self._low(lows[entry], column)
                squares[entry] = self.fma(low, low, squares[entry])
        lengths = build.fmul(self.root(self.sums(squares)), self._length)
        some = build.fcmp_ordered(">", lengths, lanes(0.0))
        safe = build.select(some, lengths, lanes(1.0))
        return build.select(some, build.fdiv(found, safe), lanes(0.0))
