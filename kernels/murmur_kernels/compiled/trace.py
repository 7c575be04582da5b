"""Probabilities of terms at the entries of the slot, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from murmur_kernels.compiled.argument_block import Arguments
from murmur_kernels.compiled.arguments import ATTENTION
from murmur_kernels.compiled.code import FLOAT, I64, POINTER, Code, Value
from murmur_kernels.compiled.terms import row_place


def add_trace(module: Any, name: str) -> Any:
    """(arguments, row, kv_head, source, summaries, target).

    source: probabilities of the terms, of which the last `summaries` are summaries; the selection
    is known to fit. target: (capacity) zeros, written.
    """
    code = _Trace(module, name)
    code.add_ranges("ranges", code.row)
    code.add_ranges("head_ranges", code.place, code.kv_head)
    code.add_indices()
    code.add_summaries()
    code.build.ret_void()
    return code.function


class _Trace(Code):
    """The function while it is written."""

    def __init__(self, module: Any, name: str) -> None:
        super().__init__(module, name, [POINTER, I64, I64, POINTER, I64, POINTER])
        block, self.row, self.kv_head = self.arguments[:3]
        self._source, self._summaries, self._target = self.arguments[3:]
        self._given = Arguments(self, block, ATTENTION)
        self.place, self._has_place = row_place(self, self._given, self.row)
        self._first = self.load_int(self._given.address("first_entries", self.place))
        self._permutation = self._given.address("permutation", self.place, self.kv_head)
        self._done: Value = I64(0)

    def _put(self, entry: Value, value: Value) -> None:
        """At the time of what lies at an entry; numbers that lead out of the slot are not used."""
        build = self.build
        place = build.sub(entry, self._first)
        moved = build.icmp_unsigned("<", place, self._given.number("permuted"))
        # A row that is nowhere in the state was not reordered.
        moved = build.and_(moved, self._has_place)
        # The first number is read in place of what is not there.
        known = self.at(self._permutation, (build.select(moved, place, I64(0)), 4))
        safe = build.select(moved, known, self._given.address("first_entries", self.place))
        time = build.add(self._first, self.load_int(safe))
        time = build.select(moved, time, entry)
        with build.if_then(build.icmp_unsigned("<", time, self._given.number("capacity"))):
            self.store(value, self.at(self._target, (time, 4)))

    def _number(self, name: str, *place: Value) -> Value:
        number = self.load_int(self._given.address(f"num_{name}", *place))
        if name == "ranges":
            return number
        return self.build.select(self._has_place, number, I64(0))

    def _each(self, count: Value, body: Callable[[Value], None]) -> None:
        def one(index: Value, _: Sequence[Value]) -> list[Value]:
            body(index)
            return []

        self.loop(count, [], one)

    def _of_term(self, number: Value) -> Value:
        return self.load_float(self.at(self._source, (number, 4)))

    def add_ranges(self, name: str, *place: Value) -> None:
        """All entries of half-open ranges."""
        build = self.build
        ranges = self._given.address(name, *place)

        def one(index: Value, carried: Sequence[Value]) -> list[Value]:
            edges = self.at(ranges, (index, 8))
            start, end = self.load_int(edges), self.load_int(self.at(edges, I64(4)))
            size = build.sub(end, start)
            self._each(
                size,
                lambda step: self._put(
                    build.add(start, step), self._of_term(build.add(carried[0], step))
                ),
            )
            return [build.add(carried[0], size)]

        (self._done,) = self.loop(self._number(name, *place), [self._done], one)

    def add_indices(self) -> None:
        """Single entries."""
        build = self.build
        number = self._number("indices", self.place, self.kv_head)
        indices = self._given.address("indices", self.place, self.kv_head)
        before = self._done
        self._each(
            number,
            lambda index: self._put(
                self.load_int(self.at(indices, (index, 4))),
                self._of_term(build.add(before, index)),
            ),
        )
        self._done = build.add(before, number)

    def add_summaries(self) -> None:
        """Shared out among the places that they stand for; those without weight are passed by."""
        build = self.build
        starts, ends = (
            self._given.address(name, self.place, self.kv_head)
            for name in ("span_starts", "span_ends")
        )

        def one(index: Value) -> None:
            value = self._of_term(build.add(self._done, index))
            with build.if_then(build.fcmp_ordered(">", value, ir.Constant(FLOAT, 0.0))):
                start, end = (self.load_int(self.at(edge, (index, 4))) for edge in (starts, ends))
                size = build.sub(end, start)
                each = build.fdiv(value, build.sitofp(size, FLOAT))
                first = build.add(self._first, start)
                self._each(size, lambda step: self._put(build.add(first, step), each))

        self._each(self._summaries, one)
