"""One task of the kernel: the query heads of one row that share one KV head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.argument_block import Arguments
from murmur_kernels.compiled.arguments import ATTENTION
from murmur_kernels.compiled.blocks import add_pass
from murmur_kernels.compiled.code import FLOAT, I32, I64, POINTER, Code, Value, lanes
from murmur_kernels.compiled.softmax import add_softmax
from murmur_kernels.compiled.terms import FAULT_OFFSET, add_terms, row_place
from murmur_kernels.compiled.tiles import ADDRESSES_BEYOND, Layout, add_mix, add_scores
from murmur_kernels.compiled.trace import add_trace
from murmur_kernels.selection import MOST_GAIN

HEADER_BYTES = 64
"""What a thread's scratch begins with: the counts of terms, and sums that nobody wants. Then come
the scaled queries of the group, a block of entries, lists of keys and values, the scores."""

Operand = tuple[Value, Value, Value]
"""Address, bytes from one query head to the next, bytes from one term to the next."""


def add_task(
    module: Any,
    head_dim: int,
    dtype: torch.dtype,
    summaries: torch.dtype | None,
    *,
    second_order: bool,
    grouped: bool,
) -> Any:
    """(arguments, scratch, number): row number // kv_heads, KV head number % kv_heads.

    `summaries` is the type of their means, None without any; `second_order`, whether they have
    deviations and tilts.
    """
    # Of one type they are read like entries; of another one by code of their own.
    kinds = [dtype] if summaries in (None, dtype) else [dtype, summaries]
    over_keys, over_values = (
        [
            add_pass(
                *(module, f"over_{name}_{kind}", add_tile, Layout(head_dim, kind, listed=True)),
                grouped=grouped,
            )
            for kind in kinds
        ]
        for name, add_tile in (("keys", add_scores), ("values", add_mix))
    )
    terms = add_terms(module, "terms", means_follow=len(kinds) == 1)
    softmax, give = add_softmax(module, "softmax"), _add_give(module, "give")
    trace = add_trace(module, "trace")
    add_tilt = None
    if summaries is not None and second_order:
        add_tilt = add_mix(module, "add_tilt", Layout(head_dim, summaries, listed=False))
    task = _Task(module, "task", head_dim)
    task.choose()
    task.scale_queries()
    task.list_terms(terms)
    task.score(over_keys)
    if summaries is not None:
        task.add_log_counts(second_order=second_order)
    task.normalise(softmax)
    task.give_probabilities(give, trace)
    task.mix(over_values)
    if add_tilt is not None:
        task.tilt(add_tilt)
    task.build.ret_void()
    return task.function


class _Task(Code):
    """The parts of a task, in the order of their calls."""

    def __init__(self, module: Any, name: str, head_dim: int) -> None:
        super().__init__(module, name, [POINTER, POINTER, I64])
        self._block, self._scratch, self._number = self.arguments
        self._given = Arguments(self, self._block, ATTENTION)
        self._head_dim = head_dim
        self._row = self.build.udiv(self._number, self._given.number("kv_heads"))
        self._kv_head = self.build.urem(self._number, self._given.number("kv_heads"))
        self._group = self._given.number("group")
        group_bytes = self.build.mul(self._group, I64(4 * head_dim))
        self._query = self.at(self._given.address("query"), (self._number, group_bytes))
        self._out = self.at(self._given.address("out"), (self._number, group_bytes))
        self._queries = self.at(self._scratch, I64(HEADER_BYTES))
        self._staging = self.at(self._queries, group_bytes)
        self._keys = self.at(self._scratch, self._given.number("keys_offset"))
        self._values = self.at(self._scratch, self._given.number("values_offset"))
        self._scores = self.at(self._scratch, self._given.number("scores_offset"))
        self._scores_stride = self._given.number("scores_stride")
        self._entries = self._summaries = self._terms = I64(0)

    def choose(self) -> None:
        """Let the function that chooses head ranges and weights of summaries do so, if any."""
        function = self._given.number("choose")
        with self.build.if_then(self.build.icmp_signed("!=", function, I64(0))):
            kind = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64])
            choice = self.build.inttoptr(self._given.number("choice"), POINTER)
            function = self.build.inttoptr(function, ir.PointerType(kind))
            # Its scratch memory is that of the scores, which are not made yet.
            self.build.call(function, [choice, self._scores, self._number])

    def scale_queries(self) -> None:
        """Scaled queries into the scratch, zeros into the result."""
        scale = self.spread(self._given.float("scale"))
        vectors = self.build.mul(self._group, I64(self._head_dim // LANES))

        def vector(index: Value, _: Sequence[Value]) -> list[Value]:
            offset = self.build.mul(index, I64(4 * LANES))
            scaled = self.build.fmul(self.load(self.at(self._query, offset)), scale)
            self.store(scaled, self.at(self._queries, offset))
            self.store(lanes(0.0), self.at(self._out, offset))
            return []

        self.loop(vectors, [], vector)

    def list_terms(self, function: Any) -> None:
        """Find out which terms there are."""
        lists = [self._keys, self._values, self._scratch]
        self.build.call(function, [self._block, self._row, self._kv_head, *lists])
        self._entries = self.build.load(self._scratch, align=8, typ=I64)
        self._summaries = self.build.load(self.at(self._scratch, I64(8)), align=8, typ=I64)
        self._terms = self.build.add(self._entries, self._summaries)

    def score(self, functions: Sequence[Any]) -> None:
        """Scores of all terms: by one function, or by one for entries and one for summaries."""
        left = (self._queries, I64(4 * self._head_dim), I64(0))
        for function, (first, beyond, count) in self._parts(functions):
            right = (self.at(self._scores, (first, 4)), self._scores_stride, I64(4))
            listed = [self.at(self._keys, (beyond, 8)), count]
            self.build.call(function, [*left, *listed, *right, self._group, self._staging])

    def mix(self, functions: Sequence[Any]) -> None:
        """Add all terms, weighted by their probabilities."""
        right = (self._out, I64(4 * self._head_dim), I64(0))
        for function, (first, beyond, count) in self._parts(functions):
            left = (self.at(self._scores, (first, 4)), self._scores_stride, I64(4))
            listed = [self.at(self._values, (beyond, 8)), count]
            self.build.call(function, [*left, *listed, *right, self._group, self._staging])

    def _parts(self, functions: Sequence[Any]) -> list[tuple[Any, Operand]]:
        """Functions, and of what they read: the first term, its place in the lists, the count."""
        if len(functions) == 1:
            return [(functions[0], (I64(0), I64(0), self._terms))]
        beyond = self.build.add(self._entries, I64(ADDRESSES_BEYOND))
        return [
            (functions[0], (I64(0), I64(0), self._entries)),
            (functions[1], (self._entries, beyond, self._summaries)),
        ]

    def _for_each_head(self, body: Callable[[Value, Value], None]) -> None:
        """Run `body(head, its scores)`."""

        def one(head: Value, _: Sequence[Value]) -> list[Value]:
            body(head, self.at(self._scores, (head, self._scores_stride)))
            return []

        self.loop(self._group, [], one)

    def add_log_counts(self, *, second_order: bool) -> None:
        """To the scores of summaries; to second order also what spread keys gain."""
        build = self.build
        place, _ = row_place(self, self._given, self._row)
        names = ("log_counts", "deviations") if second_order else ("log_counts",)
        tables = [
            (self._given.address(name, place, self._kv_head), self._given.stride(name, 2))
            for name in names
        ]
        most = ir.Constant(FLOAT, MOST_GAIN)

        def of_head(head: Value, scores: Value) -> None:
            of_means = self.at(scores, (self._entries, 4))
            half_square = self._half_square(head) if second_order else most

            def one(index: Value, _: Sequence[Value]) -> list[Value]:
                place = self.at(of_means, (index, 4))
                found = [self.load_float(self.at(base, (index, step))) for base, step in tables]
                added = found[0]
                if second_order:
                    gain = build.fmul(half_square, build.fmul(found[1], found[1]))
                    less = build.fcmp_ordered("<", gain, most)
                    added = build.fadd(added, build.select(less, gain, most))
                self.store(build.fadd(self.load_float(place), added), place)
                return []

            self.loop(self._summaries, [], one)

        self._for_each_head(of_head)

    def _half_square(self, head: Value) -> Value:
        """Half the square of the length of a scaled query."""
        query = self.at(self._queries, (head, 4 * self._head_dim))
        squares: Value = lanes(0.0)
        for column in range(0, self._head_dim, LANES):
            part = self.load(self.at(query, I64(4 * column)))
            squares = self.fma(part, part, squares)
        half = self.build.fmul(self.sums([squares] * LANES), lanes(0.5))
        return self.build.extract_element(half, I32(0))

    def tilt(self, function: Any) -> None:
        """Add the scaled query through the tilts, weighted by the share of the summaries.

        The queries are written over.
        """
        build = self.build
        place, _ = row_place(self, self._given, self._row)
        tilts = self._given.address("tilts", place, self._kv_head)
        vectors = build.lshr(self._summaries, I64(3))
        first_left = build.shl(vectors, I64(3))

        def of_head(head: Value, scores: Value) -> None:
            of_means = self.at(scores, (self._entries, 4))

            def add(index: Value, total: Sequence[Value]) -> list[Value]:
                part = self.load(self.at(of_means, (index, 4 * LANES)))
                return [build.fadd(total[0], part)]

            def add_left(index: Value, total: Sequence[Value]) -> list[Value]:
                part = self.load_float(self.at(of_means, (build.add(first_left, index), 4)))
                return [build.fadd(total[0], part)]

            (by_lane,) = self.loop(vectors, [lanes(0.0)], add)
            whole = build.extract_element(self.sums([by_lane] * LANES), I32(0))
            left = build.sub(self._summaries, first_left)
            share = self.spread(self.loop(left, [whole], add_left)[0])
            query = self.at(self._queries, (head, 4 * self._head_dim))
            for column in range(0, self._head_dim, LANES):
                part = self.at(query, I64(4 * column))
                self.store(build.fmul(self.load(part), share), part)
            out = self.at(self._out, (head, 4 * self._head_dim))
            build.call(function, [query, tilts, I64(self._head_dim), out])

        with build.if_then(build.icmp_signed(">", self._summaries, I64(0))):
            self._for_each_head(of_head)

    def normalise(self, softmax: Any) -> None:
        """Scores become probabilities."""
        wanted = self._given.number("sums")
        first = self.build.mul(self._number, self._group)

        def one(head: Value, scores: Value) -> None:
            place = self.at(self._given.address("sums"), (self.build.add(first, head), 8))
            unwanted = self.build.icmp_signed("==", wanted, I64(0))
            place = self.build.select(unwanted, self.at(self._scratch, I64(16)), place)
            self.build.call(softmax, [scores, self._terms, place])

        self._for_each_head(one)

    def give_probabilities(self, function: Any, trace: Any) -> None:
        """Copy those of the probe heads of this group."""
        heads, probes = self._given.address("probe_heads"), self._given.number("probes")

        def probe(index: Value, _: Sequence[Value]) -> list[Value]:
            head = self.load_int(self.at(heads, (index, 4)))
            ours = self.build.icmp_signed("==", self.build.udiv(head, self._group), self._kv_head)
            with self.build.if_then(ours):
                member = self.build.urem(head, self._group)
                source = self.at(self._scores, (member, self._scores_stride))
                number = self.build.add(self.build.mul(self._row, probes), index)
                target = self._given.address("probabilities", number)
                in_time = self.build.icmp_signed("!=", self._given.number("in_time"), I64(0))
                with self.build.if_else(in_time) as (traced, as_they_are):
                    with traced:
                        self._trace(trace, source, target)
                    with as_they_are:
                        given = [self._block, self._row, source, self._terms, target]
                        self.build.call(function, given)
            return []

        self.loop(probes, [], probe)

    def _trace(self, function: Any, source: Value, target: Value) -> None:
        """Not where the selection does not fit, and nothing says how far it may be followed."""
        build = self.build
        fault = build.load(self.at(self._scratch, I64(FAULT_OFFSET)), align=8, typ=I64)
        with build.if_then(build.icmp_signed("==", fault, I64(0))):
            given = [self._block, self._row, self._kv_head, source, self._summaries, target]
            build.call(function, given)


def _add_give(module: Any, name: str) -> Any:
    """(arguments, row, source, count, target): copy floats, one after another or `at_entries`.

    Then there are none but those of the row's `ranges`, which are known to fit.
    """
    code = Code(module, name, [POINTER, I64, POINTER, I64, POINTER])
    block, row, source, count, target = code.arguments
    arguments = Arguments(code, block, ATTENTION)
    build = code.build

    def copy(count: Value, source: Value, target: Value) -> None:
        def one(index: Value, _: Sequence[Value]) -> list[Value]:
            code.store(code.load_float(code.at(source, (index, 4))), code.at(target, (index, 4)))
            return []

        code.loop(count, [], one)

    def one_range(index: Value, before: Sequence[Value]) -> list[Value]:
        edges = code.at(arguments.address("ranges", row), (index, 8))
        start, end = code.load_int(edges), code.load_int(code.at(edges, I64(4)))
        size = build.sub(end, start)
        copy(size, code.at(source, (before[0], 4)), code.at(target, (start, 4)))
        return [build.add(before[0], size)]

    at_entries = build.icmp_signed("!=", arguments.number("at_entries"), I64(0))
    with build.if_else(at_entries) as (scattered, together):
        with scattered:
            code.loop(code.load_int(arguments.address("num_ranges", row)), [I64(0)], one_range)
        with together:
            copy(count, source, target)
    build.ret_void()
    return code.function
