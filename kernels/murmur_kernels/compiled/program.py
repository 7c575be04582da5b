"""The whole kernel as an LLVM module: threads draw tasks, a task is one row and one KV head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import FLOAT, I32, I64, POINTER, Code, Value, lanes
from murmur_kernels.compiled.tiles import add_mix, add_scores, add_softmax, add_widen
from murmur_kernels.ranges import TABLE_COLUMNS

ENTRY_POINT = "murmur_decode_attention"

BLOCK_ENTRIES = 32
"""Entries that all query heads of a group read in turn, while they lie in the nearest cache."""

ARGUMENTS = (
    "next_worker",
    "next_task",
    "tasks",
    "kv_heads",
    "group",
    "scale",
    "query",
    "out",
    "table",
    "keys",
    "key_slot_stride",
    "key_head_stride",
    "key_entry_stride",
    "values",
    "value_slot_stride",
    "value_head_stride",
    "value_entry_stride",
    "scratch",
    "scratch_stride",
    "scores_offset",
    "scores_stride",
    "probes",
    "probe_heads",
    "probabilities",
    "capacity",
)
"""The int64 array that the entry point gets: counts, addresses, strides in bytes; `scale` holds
the bits of a float32. The first two start at 0 and are counted up by the threads."""


def attention_module(head_dim: int, dtype: torch.dtype, *, grouped: bool) -> str:
    """LLVM IR of the entry point `void (int64 *arguments)` and all it calls.

    Every thread of a team calls it with the same arguments; it returns when no task is left.
    `grouped` says whether several query heads share a KV head.
    """
    module = ir.Module(ENTRY_POINT)
    task = _add_task(module, head_dim, dtype, grouped)
    code = Code(module, ENTRY_POINT, [POINTER], public=True)
    (arguments,) = code.arguments
    build = code.build

    def draw(name: str) -> Value:
        place = code.at(arguments, I64(8 * ARGUMENTS.index(name)))
        return build.atomic_rmw("add", place, I64(1), "monotonic")

    def argument(name: str) -> Value:
        return code.load_int(arguments, ARGUMENTS.index(name))

    worker = draw("next_worker")
    address = build.add(argument("scratch"), build.mul(worker, argument("scratch_stride")))
    scratch = build.inttoptr(address, POINTER)
    draw_task, run_task, done = (build.append_basic_block() for _ in range(3))
    build.branch(draw_task)
    build.position_at_end(draw_task)
    number = draw("next_task")
    build.cbranch(build.icmp_signed("<", number, argument("tasks")), run_task, done)
    build.position_at_end(run_task)
    build.call(task, [arguments, scratch, number])
    build.branch(draw_task)
    build.position_at_end(done)
    build.ret_void()
    return str(module)


def _add_task(module: Any, head_dim: int, dtype: torch.dtype, grouped: bool) -> Any:
    """(arguments, scratch, number): one row's query heads of one KV head, number % kv_heads."""
    add_range = _add_shared_range if grouped else _add_single_range
    over_keys = add_range(module, "over_keys", add_scores, head_dim, dtype)
    over_values = add_range(module, "over_values", add_mix, head_dim, dtype)
    softmax = add_softmax(module, "softmax")
    copy = _add_copy(module)
    task = _Task(module, head_dim)
    task.scale_queries()
    entries = task.over_ranges(
        "key",
        over_keys,
        (task.queries, I64(4 * head_dim), I64(0)),
        (task.scores, task.scores_stride, I64(4)),
    )
    task.for_each_head(softmax, entries)
    task.give_probabilities(copy)
    task.over_ranges(
        "value",
        over_values,
        (task.scores, task.scores_stride, I64(4)),
        (task.out, I64(4 * head_dim), I64(0)),
    )
    task.build.ret_void()
    return task.function


Operand = tuple[Value, Value, Value]
"""Address, bytes from one query head to the next, bytes from one entry to the next."""


class _Task(Code):
    """The parts of a task. Scratch: scaled queries of the group, a block of entries, scores."""

    def __init__(self, module: Any, head_dim: int) -> None:
        super().__init__(module, "task", [POINTER, POINTER, I64])
        self._block, scratch, number = self.arguments
        self._head_dim = head_dim
        self._row = self.build.udiv(number, self._argument("kv_heads"))
        self._kv_head = self.build.urem(number, self._argument("kv_heads"))
        self._group = self._argument("group")
        self._table = self.at(self._pointer("table"), (self._row, 8 * TABLE_COLUMNS))
        group_bytes = self.build.mul(self._group, I64(4 * head_dim))
        self._query = self.at(self._pointer("query"), (number, group_bytes))
        self.out = self.at(self._pointer("out"), (number, group_bytes))
        self.queries = scratch
        self._staging = self.at(scratch, group_bytes)
        self.scores = self.at(scratch, self._argument("scores_offset"))
        self.scores_stride = self._argument("scores_stride")

    def _argument(self, name: str) -> Value:
        return self.load_int(self._block, ARGUMENTS.index(name))

    def _pointer(self, name: str) -> Value:
        return self.build.inttoptr(self._argument(name), POINTER)

    def scale_queries(self) -> None:
        """Scaled queries into the scratch, zeros into the result."""
        bits = self.build.trunc(self._argument("scale"), I32)
        scale = self.spread(self.build.bitcast(bits, FLOAT))
        vectors = self.build.mul(self._group, I64(self._head_dim // LANES))

        def vector(index: Value, _: Sequence[Value]) -> list[Value]:
            offset = self.build.mul(index, I64(4 * LANES))
            scaled = self.build.fmul(self.load(self.at(self._query, offset)), scale)
            self.store(scaled, self.at(self.queries, offset))
            self.store(lanes(0.0), self.at(self.out, offset))
            return []

        self.loop(vectors, [], vector)

    def _for_each_range(self, body: Callable[[Value, Value, Value], None]) -> Value:
        """Run `body(start, count, entries before)` for each range; the entries of all."""

        def one(index: Value, before: Sequence[Value]) -> list[Value]:
            edges = self.at(self._table, (index, 16))
            start, end = self.load_int(edges, 2), self.load_int(edges, 3)
            count = self.build.sub(end, start)
            body(start, count, before[0])
            return [self.build.add(before[0], count)]

        (entries,) = self.loop(self.load_int(self._table, 1), [I64(0)], one)
        return entries

    def over_ranges(self, cache: str, function: Any, left: Operand, right: Operand) -> Value:
        """Call a grouped function on every range of the row's keys or values."""
        stride = self._argument(f"{cache}_entry_stride")
        entries = self.at(
            self._pointer(f"{cache}s"),
            (self.load_int(self._table, 0), self._argument(f"{cache}_slot_stride")),
            (self._kv_head, self._argument(f"{cache}_head_stride")),
        )

        def one(start: Value, count: Value, before: Value) -> None:
            first_left = self.at(left[0], (before, left[2]))
            first_right = self.at(right[0], (before, right[2]))
            self.build.call(
                function,
                [
                    *(first_left, left[1], left[2]),
                    *(self.at(entries, (start, stride)), count, stride),
                    *(first_right, right[1], right[2]),
                    *(self._group, self._staging),
                ],
            )

        return self._for_each_range(one)

    def for_each_head(self, function: Any, entries: Value) -> None:
        """Call a function of (scores, count) on the scores of each query head."""

        def one(head: Value, _: Sequence[Value]) -> list[Value]:
            self.build.call(function, [self.at(self.scores, (head, self.scores_stride)), entries])
            return []

        self.loop(self._group, [], one)

    def give_probabilities(self, copy: Any) -> None:
        """Copy the probabilities of probe heads of this group to where their entries lie."""
        heads, probes = self._pointer("probe_heads"), self._argument("probes")
        row = self.build.mul(self._row, probes)
        row_bytes = self.build.mul(self._argument("capacity"), I64(4))

        def probe(index: Value, _: Sequence[Value]) -> list[Value]:
            head = self.load_int(heads, index)
            ours = self.build.icmp_signed("==", self.build.udiv(head, self._group), self._kv_head)
            with self.build.if_then(ours):
                member = self.build.urem(head, self._group)
                source = self.at(self.scores, (member, self.scores_stride))
                target = self.at(
                    self._pointer("probabilities"), (self.build.add(row, index), row_bytes)
                )

                def one(start: Value, count: Value, before: Value) -> None:
                    places = [self.at(source, (before, 4)), self.at(target, (start, 4))]
                    self.build.call(copy, [*places, count])

                self._for_each_range(one)
            return []

        self.loop(probes, [], probe)


def _add_copy(module: Any) -> Any:
    """(source, target, count): copy floats."""
    code = Code(module, "copy", [POINTER, POINTER, I64])
    source, target, count = code.arguments

    def one(index: Value, _: Sequence[Value]) -> list[Value]:
        value = code.build.load(code.at(source, (index, 4)), align=4, typ=FLOAT)
        code.store(value, code.at(target, (index, 4)))
        return []

    code.loop(count, [], one)
    code.build.ret_void()
    return code.function


RANGE_PARAMETERS = [POINTER, I64, I64, POINTER, I64, I64, POINTER, I64, I64, I64, POINTER]
"""left, its strides over heads and entries; entries, count, stride; right, its strides; group,
staging: an inner loop (left, entries, count, stride, right) for each query head of the group."""


def _add_single_range(
    module: Any, name: str, add_tile: Callable[..., Any], head_dim: int, dtype: torch.dtype
) -> Any:
    """RANGE_PARAMETERS, for a group of one: the entries are read as they lie."""
    tile = add_tile(module, f"{name}_tile", head_dim, dtype)
    code = Code(module, name, RANGE_PARAMETERS)
    left, _, _, entries, count, stride, right = code.arguments[:7]
    code.build.call(tile, [left, entries, count, stride, right])
    code.build.ret_void()
    return code.function


def _add_shared_range(
    module: Any, name: str, add_tile: Callable[..., Any], head_dim: int, dtype: torch.dtype
) -> Any:
    """RANGE_PARAMETERS, for a group of several: they take the entries block by block.

    A block is widened to float32 once for all, so memory is read once whatever the group.
    """
    tile = add_tile(module, f"{name}_tile", head_dim, torch.float32)
    widen = None
    if dtype != torch.float32:
        widen = add_widen(module, f"{name}_widen", head_dim, dtype)
    code = Code(module, name, RANGE_PARAMETERS)
    left, left_head, left_entry, entries, count, stride = code.arguments[:6]
    right, right_head, right_entry, group, staging = code.arguments[6:]
    build = code.build

    def block(index: Value, _: Sequence[Value]) -> list[Value]:
        first = build.mul(index, I64(BLOCK_ENTRIES))
        size = code.minimum(build.sub(count, first), I64(BLOCK_ENTRIES))
        source, source_stride = code.at(entries, (first, stride)), stride
        if widen is not None:
            build.call(widen, [source, size, stride, staging])
            source, source_stride = staging, I64(4 * head_dim)

        def head(index: Value, _: Sequence[Value]) -> list[Value]:
            head_left = code.at(left, (index, left_head), (first, left_entry))
            head_right = code.at(right, (index, right_head), (first, right_entry))
            build.call(tile, [head_left, source, size, source_stride, head_right])
            return []

        code.loop(group, [], head)
        return []

    blocks = build.udiv(build.add(count, I64(BLOCK_ENTRIES - 1)), I64(BLOCK_ENTRIES))
    code.loop(blocks, [], block)
    build.ret_void()
    return code.function
