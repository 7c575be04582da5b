"""What a (row, KV head) selects, as lists of the addresses of keys and values.

Ranges are written out: a tile of entries then goes on over the end of a range, so short ranges
cost what long ones do, and what comes next is known early enough to be asked for. Numbers that
would lead outside the arena or this task's memory are told as a fault and not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.argument_block import Arguments
from murmur_kernels.compiled.arguments import ATTENTION
from murmur_kernels.compiled.code import I8, I64, LONGS, POINTER, Code, Value
from murmur_kernels.compiled.tiles import ADDRESSES_BEYOND

LISTS_BEYOND = 2 * ADDRESSES_BEYOND
"""Addresses that a list has room for beyond the number of terms: behind entries, and means."""


FAULT_OFFSET = 24
"""Where, from the counts on, stands whether the selection did not fit: 0 if it did."""


def add_terms(module: Any, name: str, *, means_follow: bool) -> Any:
    """(arguments, row, kv_head, keys, values, counts).

    Writes to keys and values the addresses of the entries in the order of the selection, then
    those of the summaries, directly if `means_follow`, else ADDRESSES_BEYOND later; to counts,
    int64, how many entries there are and how many summaries. Behind each list of keys the list
    of values begins, for what is asked for in advance; behind that its last address is repeated.
    """
    code = Code(module, name, [POINTER, I64, I64, POINTER, POINTER, POINTER])
    block, row, kv_head, keys, values, counts = code.arguments
    build = code.build
    arguments = Arguments(code, block, ATTENTION)
    terms = _Terms(code, arguments, row)
    entries = _Lists(code, keys, values)
    slot = code.load_int(arguments.address("slots", row))
    entries.point(arguments, ("keys", "values"), slot, kv_head)
    terms.add_ranges(entries, "ranges", row)
    terms.turn_to_heads()
    terms.add_ranges(entries, "head_ranges", terms.place, kv_head)
    terms.add_indices(entries, terms.place, kv_head)
    build.store(terms.total, counts, align=8)
    summaries = terms.fitting(terms.count("counts", "summaries_room", terms.place, kv_head))
    build.store(summaries, code.at(counts, I64(8)), align=8)
    if means_follow:
        means = entries
        first = terms.total
    else:
        entries.close(terms.total)
        first = I64(0)
        beyond = build.add(terms.total, I64(ADDRESSES_BEYOND))
        means = _Lists(code, code.at(keys, (beyond, 8)), code.at(values, (beyond, 8)))
    means.point(arguments, ("mean_keys", "mean_values"), terms.place, kv_head)
    means.add_run(first, I64(0), summaries)
    means.close(build.add(first, summaries))
    flag = build.zext(terms.fault, I64)
    # An inactive row has nothing to follow either.
    unread = build.or_(flag, build.zext(build.not_(terms.is_read), I64))
    build.store(unread, code.at(counts, I64(FAULT_OFFSET)), align=8)
    with build.if_then(terms.fault):
        build.atomic_rmw("or", arguments.place("faults"), I64(1), "monotonic")
    build.ret_void()
    return code.function


def row_place(code: Code, arguments: Arguments, row: Value) -> tuple[Value, Value]:
    """Where a row lies in what is listed per KV head, and whether it lies there at all.

    The place is 0 where it does not, which may be read and is not used.
    """
    build = code.build
    given = build.icmp_signed("!=", arguments.number("places"), I64(0))
    # Without places it is the row itself; its slot is read in place of what is not there.
    place = build.select(given, arguments.address("places", row), arguments.address("slots", row))
    place = build.select(given, code.load_int(place), row)
    exists = build.icmp_unsigned("<", place, arguments.number("num_places"))
    return build.select(exists, place, I64(0)), exists


class _Source(NamedTuple):
    """A list, and the tensor of which it holds addresses.

    Attributes:
        addresses: the list.
        base, stride: address of the tensor's first entry, bytes from one to the next.
        steps, next_vector: vectors of 0 to 7 strides, and of 8.
    """

    addresses: Value
    base: Value
    stride: Value
    steps: Value
    next_vector: Value


class _Lists:
    """Lists of addresses of keys and of values, of the same entries."""

    def __init__(self, code: Code, keys: Value, values: Value) -> None:
        self._code = code
        self._lists = (keys, values)
        self._sources: list[_Source] = []

    def point(self, arguments: Arguments, names: Sequence[str], *place: Value) -> None:
        """Write addresses of the entries of these tensors from now on."""
        code, build = self._code, self._code.build
        self._sources = []
        for name, addresses in zip(names, self._lists, strict=True):
            stride = arguments.stride(name, 2)
            steps = build.mul(code.spread(stride), ir.Constant(LONGS, list(range(LANES))))
            base = build.ptrtoint(arguments.address(name, *place), I64)
            next_vector = code.spread(build.mul(stride, I64(LANES)))
            self._sources.append(_Source(addresses, base, stride, steps, next_vector))

    def add_run(self, before: Value, start: Value, size: Value) -> None:
        """`size` entries from `start` on; up to 7 addresses beyond are written over."""
        code, build = self._code, self._code.build
        targets = [code.at(source.addresses, (before, 8)) for source in self._sources]
        first = [
            build.add(code.spread(self._address(source, start)), source.steps)
            for source in self._sources
        ]

        def vector(index: Value, carried: Sequence[Value]) -> list[Value]:
            following = []
            for source, target, addresses in zip(self._sources, targets, carried, strict=True):
                code.store(addresses, code.at(target, (index, 8 * LANES)))
                following.append(build.add(addresses, source.next_vector))
            return following

        code.loop(build.lshr(build.add(size, I64(LANES - 1)), I64(3)), first, vector)

    def add_one(self, before: Value, entry: Value) -> None:
        """A single entry."""
        for source in self._sources:
            target = self._code.at(source.addresses, (before, 8))
            self._code.store(self._address(source, entry), target)

    def _address(self, source: _Source, entry: Value) -> Value:
        build = self._code.build
        return build.add(source.base, build.mul(entry, source.stride))

    def close(self, count: Value) -> None:
        """Fill ADDRESSES_BEYOND behind both lists; of no use, and no harm, if they are empty."""
        code, build = self._code, self._code.build
        keys, values = self._lists
        end = code.at(values, (count, 8))
        none = build.icmp_signed("==", count, I64(0))
        last = code.at(end, build.select(none, I64(0), I64(-8)))
        repeated = code.spread(build.load(last, align=8, typ=I64))
        behind_keys = code.at(keys, (count, 8))
        for offset in range(0, 8 * ADDRESSES_BEYOND, 8 * LANES):
            code.store(repeated, code.at(end, I64(offset)))
        for offset in range(0, 8 * ADDRESSES_BEYOND, 8 * LANES):
            first = build.load(code.at(values, I64(offset)), align=8, typ=LONGS)
            code.store(first, code.at(behind_keys, I64(offset)))


class _Terms:
    """Counts the terms and looks for faults while the lists are written.

    Attributes:
        total: entries so far.
        fault: whether something did not fit.
        is_read: whether the row selects anything at all.
        place: of the row in what is listed per KV head.
    """

    def __init__(self, code: Code, arguments: Arguments, row: Value) -> None:
        self._code = code
        self._arguments = arguments
        build = code.build
        flag = build.load(arguments.address("active", row), align=1, typ=I8)
        active = build.icmp_unsigned("!=", flag, I8(0))
        slot = code.load_int(arguments.address("slots", row))
        exists = build.icmp_unsigned("<", slot, arguments.number("num_slots"))
        self._reads = self.is_read = build.and_(active, exists)
        self.total: Value = I64(0)
        self.fault: Value = build.and_(active, build.not_(exists))
        self.place, self._has_place = row_place(code, arguments, row)

    def turn_to_heads(self) -> None:
        """From now on what is listed per KV head, of which a row without a place has nothing."""
        self._reads = self._code.build.and_(self._reads, self._has_place)

    def count(self, name: str, room: str, *place: Value) -> Value:
        """A count of the selection, 0 in a row that selects nothing."""
        build = self._code.build
        number = self._code.load_int(self._arguments.address(name, *place))
        number = build.select(self._reads, number, I64(0))
        beyond = build.icmp_unsigned(">", number, self._arguments.number(room))
        self.fault = build.or_(self.fault, beyond)
        return build.select(beyond, I64(0), number)

    def fitting(self, more: Value) -> Value:
        """So many terms more, or 0 where they would be too many, which is a fault."""
        full = self._is_full(self.total, more)
        self.fault = self._code.build.or_(self.fault, full)
        return self._code.build.select(full, I64(0), more)

    def _is_full(self, total: Value, more: Value) -> Value:
        build = self._code.build
        limit = self._arguments.number("max_terms")
        return build.icmp_signed(">", build.add(total, more), limit)

    def add_ranges(self, lists: _Lists, name: str, *place: Value) -> None:
        """All entries of half-open ranges."""
        code, build = self._code, self._code.build
        number = self.count(f"num_{name}", f"{name}_room", *place)
        ranges = self._arguments.address(name, *place)
        capacity = self._arguments.number("capacity")

        def one(index: Value, carried: Sequence[Value]) -> list[Value]:
            total, fault = carried
            edges = code.at(ranges, (index, 8))
            start, end = code.load_int(edges), code.load_int(code.at(edges, I64(4)))
            size = build.sub(end, start)
            reversed_, full = build.icmp_signed("<", size, I64(0)), self._is_full(total, size)
            outside = build.or_(
                build.icmp_signed("<", start, I64(0)), build.icmp_signed(">", end, capacity)
            )
            wrong = build.or_(outside, build.or_(reversed_, full))
            size = build.select(wrong, I64(0), size)
            lists.add_run(total, start, size)
            return [build.add(total, size), build.or_(fault, wrong)]

        self.total, self.fault = code.loop(number, [self.total, self.fault], one)

    def add_indices(self, lists: _Lists, *place: Value) -> None:
        """Single entries."""
        code, build = self._code, self._code.build
        number = self.fitting(self.count("num_indices", "indices_room", *place))
        indices = self._arguments.address("indices", *place)
        capacity = self._arguments.number("capacity")
        before = self.total

        def one(index: Value, carried: Sequence[Value]) -> list[Value]:
            entry = code.load_int(code.at(indices, (index, 4)))
            wrong = build.icmp_unsigned(">=", entry, capacity)
            lists.add_one(build.add(before, index), build.select(wrong, I64(0), entry))
            return [build.or_(carried[0], wrong)]

        (self.fault,) = code.loop(number, [self.fault], one)
        self.total = build.add(before, number)
