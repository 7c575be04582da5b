"""One split of `two_means` as machine code, over vectors that lie ready.

Sums of a side are made in the order of its entries, and entries meet a centroid in tiles of
eight, whose last repeats the last entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import (
    FLOAT,
    I1,
    I32,
    I64,
    INTEGERS,
    POINTER,
    Code,
    Value,
    lanes,
)

SPLIT = [POINTER, POINTER, I64, I64, I64, I64, I64, POINTER, I64]
"""vectors (places, head_dim) float32; list of the node's entries; its first place and its size;
the largest child allowed; iterations; seed; scratch, whose first int64 becomes the size of the
first part; bytes from one of its lists to the next."""

_MASK = 0xFFFFFFFF


def lists_offset(head_dim: int) -> int:
    """Where the lists of a scratch memory begin: behind the result, centroids and sums."""
    return 64 + 5 * 4 * head_dim


def add_split(module: Any, name: str, head_dim: int, *, cosine: bool) -> Any:
    """The function of SPLIT: both parts of the list keep the order that their entries had."""
    code = _Split(module, name, head_dim, cosine=cosine)
    code.choose_centroids()
    code.iterate()
    code.part()
    code.build.ret_void()
    return code.function


class _Split(Code):
    """The function while it is written."""

    def __init__(self, module: Any, name: str, head_dim: int, *, cosine: bool) -> None:
        super().__init__(module, name, SPLIT)
        self._vectors, self._order, self._place, self._size = self.arguments[:4]
        self._max_child, self._iterations, self._seed, self._scratch = self.arguments[4:8]
        self._dim, self._cosine = head_dim, cosine
        self._columns = range(0, head_dim, LANES)
        self._first, self._second, self._difference, self._sums = (
            self.at(self._scratch, I64(64 + 4 * head_dim * number)) for number in (0, 1, 2, 3)
        )
        lists = self.at(self._scratch, I64(lists_offset(head_dim)))
        self._sides, self._moved = lists, self.at(lists, self.arguments[8])
        self._tiles = self.build.lshr(self.build.add(self._size, I64(LANES - 1)), I64(3))

    # --- parts of it ---------------------------------------------------------------------------

    def choose_centroids(self) -> None:
        """The entry that the hash picks, and the one farthest from it."""
        build = self.build
        self._copy(self._row(self._picked()), self._first)
        numbers = ir.Constant(INTEGERS, list(range(LANES)))
        steps = ir.Constant(INTEGERS, [LANES] * LANES)

        def tile(index: Value, carried: Sequence[Value]) -> list[Value]:
            least, entries, here = carried
            rows = self._rows(index)
            near = self._products(rows, self._first)
            if not self._cosine:
                near = build.fsub(near, build.fmul(self._squares(rows), lanes(0.5)))
            lower = build.fcmp_ordered("<", near, least)
            return [
                build.select(lower, near, least),
                build.select(lower, here, entries),
                build.add(here, steps),
            ]

        start = [lanes(float("inf")), ir.Constant(INTEGERS, [0] * LANES), numbers]
        by_lane, entries, _ = self.loop(self._tiles, start, tile)
        _, farthest = self.foremost(by_lane, entries, "<")
        self._copy(self._row(build.sext(farthest, I64)), self._second)

    def iterate(self) -> None:
        """Assign and average in turn; the same assignment gives the same centroids for ever."""
        build = self.build

        def one(carried: list[Value]) -> list[Value]:
            iteration = carried[0]
            changed = self._assign()
            is_last = build.icmp_signed("==", build.add(iteration, I64(1)), self._iterations)
            is_first = build.icmp_signed("==", iteration, I64(0))
            goes_on = build.and_(build.or_(is_first, changed), build.not_(is_last))
            with build.if_then(goes_on):
                self._average()
            return [build.add(iteration, I64(1)), goes_on]

        self.loop_while([I64(0), I1(1)], lambda carried: carried[1], one)

    def part(self) -> None:
        """Move the entries; a split that is lopsided or none goes through the middle."""
        build = self.build

        def count(index: Value, carried: Sequence[Value]) -> list[Value]:
            return [build.add(carried[0], self._side(index))]

        (rights,) = self.loop(self._size, [I64(0)], count)
        lefts = build.sub(self._size, rights)
        fewer = self.minimum(lefts, rights)
        none = build.icmp_signed("==", fewer, I64(0))
        lopsided = build.icmp_signed(">", build.sub(self._size, fewer), self._max_child)
        halves = build.or_(none, lopsided)
        middle = build.lshr(self._size, I64(1))

        def move(index: Value, carried: Sequence[Value]) -> list[Value]:
            left, right = carried
            later = build.zext(build.icmp_signed(">=", index, middle), I64)
            side = build.select(halves, later, self._side(index))
            entry = build.load(self.at(self._order, (index, 4)), align=4, typ=I32)
            # Not beyond what has been read; an entry of the second part is overwritten there.
            self.store(entry, self.at(self._order, (left, 4)))
            self.store(entry, self.at(self._moved, (right, 4)))
            return [build.add(left, build.sub(I64(1), side)), build.add(right, side)]

        left, right = self.loop(self._size, [I64(0), I64(0)], move)

        def back(index: Value, _: Sequence[Value]) -> list[Value]:
            entry = build.load(self.at(self._moved, (index, 4)), align=4, typ=I32)
            self.store(entry, self.at(self._order, (build.add(left, index), 4)))
            return []

        self.loop(right, [], back)
        build.store(left, self._scratch, align=8)

    # --- steps ---------------------------------------------------------------------------------

    def _picked(self) -> Value:
        """The number of the first centroid: 32-bit mixing, as `two_means` has it."""
        build = self.build

        def low(value: Value) -> Value:
            return build.and_(value, I64(_MASK))

        bits = build.add(build.mul(self._place, I64(2654435761)), self._seed)
        bits = low(build.add(bits, build.mul(self._size, I64(2246822519))))
        for shift, factor in ((15, 0x2C1B3C6D), (12, 0x297A2D39)):
            bits = low(build.mul(build.xor(bits, build.lshr(bits, I64(shift))), I64(factor)))
        return build.urem(build.xor(bits, build.lshr(bits, I64(15))), self._size)

    def _assign(self) -> Value:
        """Sides of all entries, -1 for the second; whether one has changed."""
        build = self.build
        bias = self._difference_of_centroids()

        def tile(index: Value, carried: Sequence[Value]) -> list[Value]:
            nearer = build.fsub(self._products(self._rows(index), self._difference), bias)
            side = build.sext(build.fcmp_ordered(">", nearer, lanes(0.0)), INTEGERS)
            place = self.at(self._sides, (index, 4 * LANES))
            before = build.load(place, align=4, typ=INTEGERS)
            self.store(side, place)
            return [build.or_(carried[0], build.xor(side, before))]

        (changed,) = self.loop(self._tiles, [ir.Constant(INTEGERS, [0] * LANES)], tile)
        bits = ir.IntType(32 * LANES)
        return build.icmp_unsigned("!=", build.bitcast(changed, bits), bits(0))

    def _difference_of_centroids(self) -> Value:
        """Write second - first; half the difference of their squares, 0 for the cosine."""
        build = self.build
        total: Value = lanes(0.0)
        for column in self._columns:
            first, second = (
                self.load(self.at(base, I64(4 * column))) for base in (self._first, self._second)
            )
            self.store(build.fsub(second, first), self.at(self._difference, I64(4 * column)))
            total = self.fma(second, second, total)
            total = build.fsub(total, build.fmul(first, first))
        if self._cosine:
            return lanes(0.0)
        return build.fmul(self.sums([total] * LANES), lanes(0.5))

    def _average(self) -> None:
        """Centroids become the means of their entries, where they have any."""
        build = self.build
        for column in range(0, 2 * self._dim, LANES):
            self.store(lanes(0.0), self.at(self._sums, I64(4 * column)))

        def add(index: Value, carried: Sequence[Value]) -> list[Value]:
            side = self._side(index)
            row, sums = self._row(index), self.at(self._sums, (side, 4 * self._dim))
            for column in self._columns:
                place = self.at(sums, I64(4 * column))
                value = self.load(self.at(row, I64(4 * column)))
                self.store(build.fadd(self.load(place), value), place)
            return [build.add(carried[0], side)]

        (rights,) = self.loop(self._size, [I64(0)], add)
        lefts = build.sub(self._size, rights)
        for number, (count, centroid) in enumerate(((lefts, self._first), (rights, self._second))):
            with build.if_then(build.icmp_signed(">", count, I64(0))):
                self._mean(self.at(self._sums, I64(4 * self._dim * number)), count, centroid)

    def _mean(self, sums: Value, count: Value, centroid: Value) -> None:
        build = self.build
        loaded = [self.load(self.at(sums, I64(4 * column))) for column in self._columns]
        divisor = self.spread(build.sitofp(count, FLOAT))
        if self._cosine:
            divisor = self.length(loaded)
        for column, part in zip(self._columns, loaded, strict=True):
            self.store(build.fdiv(part, divisor), self.at(centroid, I64(4 * column)))

    # --- entries -------------------------------------------------------------------------------

    def _row(self, index: Value) -> Value:
        """The vector of entry `index` of the list."""
        entry = self.load_int(self.at(self._order, (index, 4)))
        return self.at(self._vectors, (entry, 4 * self._dim))

    def _rows(self, tile: Value) -> list[Value]:
        build = self.build
        first, last = build.mul(tile, I64(LANES)), build.sub(self._size, I64(1))
        return [
            self._row(self.minimum(build.add(first, I64(entry)), last)) for entry in range(LANES)
        ]

    def _products(self, rows: Sequence[Value], vector: Value) -> Value:
        totals: list[Value] = [lanes(0.0)] * LANES
        for column in self._columns:
            part = self.load(self.at(vector, I64(4 * column)))
            for number, row in enumerate(rows):
                value = self.load(self.at(row, I64(4 * column)))
                totals[number] = self.fma(part, value, totals[number])
        return self.sums(totals)

    def _squares(self, rows: Sequence[Value]) -> Value:
        totals: list[Value] = [lanes(0.0)] * LANES
        for column in self._columns:
            for number, row in enumerate(rows):
                value = self.load(self.at(row, I64(4 * column)))
                totals[number] = self.fma(value, value, totals[number])
        return self.sums(totals)

    def _side(self, index: Value) -> Value:
        """0 or 1."""
        return self.build.sub(I64(0), self.load_int(self.at(self._sides, (index, 4))))

    def _copy(self, source: Value, target: Value) -> None:
        for column in self._columns:
            self.store(
                self.load(self.at(source, I64(4 * column))), self.at(target, I64(4 * column))
            )
