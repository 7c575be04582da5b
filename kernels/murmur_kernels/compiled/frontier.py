"""`frontier_update` by machine code; a task is the frontier of one row and KV head."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from llvmlite import ir

from murmur_kernels.compiled.argument_block import Arguments, BlockLayout
from murmur_kernels.compiled.code import FLOAT, I1, I8, I32, I64, POINTER, Code, Value
from murmur_kernels.compiled.machine_code import MachineCode, made_here
from murmur_kernels.compiled.program import add_program
from murmur_kernels.compiled.team import run_on_team, team_size
from murmur_kernels.frontier import Frontier
from murmur_kernels.tree_order import Tree

ENTRY_POINT = "murmur_frontier_update"

MOVED = 3
"""Positions that one operation changes."""

FRONTIER = BlockLayout(
    "FrontierArguments",
    numbers=("kv_heads", "operations", "size", "tree_nodes"),
    tensors=dict.fromkeys(
        (
            *("tree_starts", "tree_ends", "left_children", "parents", "positions"),
            *("nodes", "starts", "ends", "averages"),
            *("counts", "changed", "num_changed", "active"),
        ),
        0,
    ),
)
"""All tensors are contiguous; `active` is 0 when all rows are."""


@functools.cache
def frontier_code() -> MachineCode | None:
    """Made at the first call; None where it cannot be made."""

    def module() -> str:
        whole = ir.Module(ENTRY_POINT)
        add_program(whole, ENTRY_POINT, _add_task(whole, "frontier"), FRONTIER)
        return str(whole)

    return made_here(module, ENTRY_POINT)


def frontier_update_compiled(
    code: MachineCode,
    tree: Tree,
    frontier: Frontier,
    changed: torch.Tensor,
    num_changed: torch.Tensor,
    operations: int,
    active: torch.Tensor | None,
) -> None:
    """`frontier_update` on checked arguments, by `code` made for it."""
    rows, heads, size = frontier.nodes.shape
    threads = team_size(rows * heads)
    block = FRONTIER.block(
        tasks=rows * heads,
        kv_heads=heads,
        operations=operations,
        size=size,
        tree_nodes=tree.starts.shape[2],
        tree_starts=tree.starts.data_ptr(),
        tree_ends=tree.ends.data_ptr(),
        left_children=tree.left_children.data_ptr(),
        parents=tree.parents.data_ptr(),
        positions=frontier.positions.data_ptr(),
        nodes=frontier.nodes.data_ptr(),
        starts=frontier.starts.data_ptr(),
        ends=frontier.ends.data_ptr(),
        averages=frontier.averages.data_ptr(),
        counts=frontier.counts.data_ptr(),
        changed=changed.data_ptr(),
        num_changed=num_changed.data_ptr(),
        active=0 if active is None else active.data_ptr(),
    )
    run_on_team(code, block, threads)


def _add_task(module: Any, name: str) -> Any:
    """(arguments, scratch, number), as `program` calls it."""
    code = Code(module, name, [POINTER, POINTER, I64])
    block, _, number = code.arguments
    build, given = code.build, Arguments(code, block, FRONTIER)
    row = build.udiv(number, given.number("kv_heads"))
    everywhere = build.icmp_signed("==", given.number("active"), I64(0))
    # The count is read in place of a flag that is not there.
    flag = build.select(everywhere, given.address("counts"), code.at(given.address("active"), row))
    is_active = build.icmp_unsigned("!=", build.load(flag, align=1, typ=I8), I8(0))
    with build.if_then(build.or_(everywhere, is_active)):
        _Moves(code, given, number).run()
    build.ret_void()
    return code.function


class _Moves:
    """The operations on one frontier, written by `code`."""

    def __init__(self, code: Code, given: Arguments, number: Value) -> None:
        self._code, self._given, self._number = code, given, number
        count = code.load_int(code.at(given.address("counts"), (number, 4)))
        self._count = code.minimum(count, given.number("size"))
        self._changed = self._of("changed", code.build.mul(given.number("operations"), I64(MOVED)))

    def _of(self, name: str, length: Value) -> Value:
        """This task's part of a tensor of so many numbers for each."""
        size = self._code.build.mul(length, I64(4))
        return self._code.at(self._given.address(name), (self._number, size))

    def _in_tree(self, name: str, node: Value) -> Value:
        return self._code.at(self._of(name, self._given.number("tree_nodes")), (node, 4))

    def _active(self, name: str, position: Value) -> Value:
        return self._code.at(self._of(name, self._given.number("size")), (position, 4))

    def run(self) -> None:
        """Operation after operation, until one is not worth it: then none will be."""
        code, build = self._code, self._code.build

        def goes_on(carried: list[Value]) -> Value:
            less = build.icmp_signed("<", carried[0], self._given.number("operations"))
            return build.and_(less, carried[1])

        def one(carried: list[Value]) -> list[Value]:
            done = self._operation(build.mul(carried[0], I64(MOVED)))
            return [build.add(carried[0], build.zext(done, I64)), done]

        operations, _ = code.loop_while([I64(0), I1(1)], goes_on, one)
        moved = build.trunc(build.mul(operations, I64(MOVED)), I32)
        code.store(moved, code.at(self._given.address("num_changed"), (self._number, 4)))

    def _operation(self, moved: Value) -> Value:
        """One split and merge, if it is worth it; whether it was."""
        code, build = self._code, self._code.build
        highest, split, lowest, left, right = self._search()
        done = build.fcmp_ordered(">", highest, lowest)
        with build.if_then(done):
            child = code.load_int(
                self._in_tree("left_children", code.load_int(self._active("nodes", split)))
            )
            merged = code.load_int(
                self._in_tree("parents", code.load_int(self._active("nodes", left)))
            )
            replaced = (
                (split, child, highest),
                (right, build.add(child, I64(1)), highest),
                (left, merged, lowest),
            )
            for place, (position, node, average) in enumerate(replaced):
                self._put(position, node, average)
                number = build.add(moved, I64(place))
                code.store(build.trunc(position, I32), code.at(self._changed, (number, 4)))
        return done

    def _put(self, position: Value, node: Value, average: Value) -> None:
        code, build = self._code, self._code.build
        code.store(build.trunc(node, I32), self._active("nodes", position))
        for edge in ("starts", "ends"):
            value = build.load(self._in_tree(f"tree_{edge}", node), align=4, typ=I32)
            code.store(value, self._active(edge, position))
        code.store(average, self._active("averages", position))
        code.store(build.trunc(position, I32), self._in_tree("positions", node))

    def _search(self) -> list[Value]:
        """Average and position to split; cost and both positions to merge."""
        code, build = self._code, self._code.build

        def one(index: Value, carried: Sequence[Value]) -> list[Value]:
            highest, split, lowest, left, right = carried
            node = code.load_int(self._active("nodes", index))
            average = code.load_float(self._active("averages", index))
            child = code.load_int(self._in_tree("left_children", node))
            higher = build.and_(
                build.icmp_signed(">", child, I64(0)), build.fcmp_ordered(">", average, highest)
            )
            is_left = build.icmp_signed("==", build.and_(node, I64(1)), I64(1))
            sibling = build.select(is_left, build.add(node, I64(1)), I64(0))
            at = code.load_int(self._in_tree("positions", sibling))
            known = build.icmp_unsigned("<", at, self._count)
            at = build.select(known, at, I64(0))
            is_there = build.icmp_signed("==", code.load_int(self._active("nodes", at)), sibling)
            other = code.load_float(self._active("averages", at))
            cost = build.select(build.fcmp_ordered(">", other, average), other, average)
            is_pair = build.and_(is_left, build.and_(known, is_there))
            lower = build.and_(is_pair, build.fcmp_ordered("<", cost, lowest))
            return [
                build.select(higher, average, highest),
                build.select(higher, index, split),
                build.select(lower, cost, lowest),
                build.select(lower, index, left),
                build.select(lower, at, right),
            ]

        infinity = float("inf")
        start = [
            ir.Constant(FLOAT, -infinity),
            I64(0),
            ir.Constant(FLOAT, infinity),
            I64(0),
            I64(0),
        ]
        return code.loop(self._count, start, one)
