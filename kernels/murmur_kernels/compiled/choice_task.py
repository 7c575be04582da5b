"""One task of the choice: scores of the groups of a row and KV head, and the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.argument_block import Arguments
from murmur_kernels.compiled.choice_arguments import CHOICE
from murmur_kernels.compiled.code import (
    FLOAT,
    I1,
    I8,
    I32,
    I64,
    INTEGERS,
    POINTER,
    Code,
    Value,
    lanes,
)
from murmur_kernels.compiled.group_scores import add_group_scores
from murmur_kernels.group_choice import NO_WEIGHT, ChoiceKind

LOWEST = float("-inf")


def add_choice_task(module: Any, name: str, kind: ChoiceKind) -> Any:
    """The public function (arguments, scratch, number): row number // kv_heads, and KV head."""
    scores = add_group_scores(module, f"{name}_scores", kind)
    finish = _add_finish(module, f"{name}_finish", kind)
    pick = _add_pick(module, f"{name}_pick", kind)
    code = Code(module, name, [POINTER, POINTER, I64], public=True)
    block, scratch, number = code.arguments
    build, given = code.build, Arguments(code, block, CHOICE)
    row = build.udiv(number, given.number("kv_heads"))
    kv_head = build.urem(number, given.number("kv_heads"))
    slot = code.load_int(given.address("places", row))
    due = build.load(code.at(given.address("due"), row), align=1, typ=I8)
    exists = build.icmp_unsigned("<", slot, given.number("num_slots"))
    with build.if_then(build.and_(build.icmp_unsigned("!=", due, I8(0)), exists)):
        of_groups = code.at(scratch, I64(8 * kind.head_dim))
        fresh = build.load(code.at(given.address("fresh"), row), align=1, typ=I8)
        build.call(scores, [block, number, slot, kv_head, scratch, of_groups])
        build.call(finish, [block, slot, kv_head, fresh, of_groups])
        build.call(pick, [block, slot, kv_head, of_groups])
    build.ret_void()
    return code.function


def _add_finish(module: Any, name: str, kind: ChoiceKind) -> Any:
    """(arguments, slot, kv_head, fresh, scores): means, masses and averages; padding is -inf."""
    code = Code(module, name, [POINTER, I64, I64, I8, POINTER])
    block, slot, kv_head, fresh, scores = code.arguments
    build, given = code.build, Arguments(code, block, CHOICE)
    is_fresh = build.icmp_unsigned("!=", fresh, I8(0))
    heads = code.spread(build.sitofp(given.number("group"), FLOAT))
    past = code.spread(given.float("decay"))
    present = build.fsub(lanes(1.0), past)
    tensors = {
        tensor: given.address(tensor, slot, kv_head)
        for tensor in ("starts", "ends", "log_sizes", "averages", "log_counts")
    }

    def vector(index: Value, _: Sequence[Value]) -> list[Value]:
        places = {tensor: code.at(base, (index, 4 * LANES)) for tensor, base in tensors.items()}
        target = code.at(scores, (index, 4 * LANES))
        score = code.load(target)
        if kind.reduce == "mean":
            score = build.fdiv(score, heads)
        start, end = (build.load(places[t], align=4, typ=INTEGERS) for t in ("starts", "ends"))
        used = build.icmp_signed("<", start, end)
        if kind.by_mass:
            score = build.fadd(score, code.load(places["log_sizes"]))
        if kind.averaged:
            before = code.load(places["averages"])
            mixed = code.fma(past, before, build.fmul(present, score))
            mixed = build.select(is_fresh, score, mixed)
            code.store(build.select(used, mixed, before), places["averages"])
        code.store(build.select(used, score, lanes(LOWEST)), target)
        if kind.summaries:
            code.store(code.load(places["log_sizes"]), places["log_counts"])
        return []

    code.loop(given.number("vectors"), [], vector)
    build.ret_void()
    return code.function


def _add_pick(module: Any, name: str, kind: ChoiceKind) -> Any:
    """(arguments, slot, kv_head, scores): the best groups, as ranges, until the budget is full.

    The score of a group that is taken becomes -inf.
    """
    code = Code(module, name, [POINTER, I64, I64, POINTER])
    block, slot, kv_head, scores = code.arguments
    build, given = code.build, Arguments(code, block, CHOICE)
    budget = code.load_int(given.address("budgets", slot, kv_head))
    first_entry = code.load_int(given.address("first_entries", slot))
    ranges, room = given.address("ranges", slot, kv_head), given.number("ranges_room")
    starts, ends, log_counts = (
        given.address(tensor, slot, kv_head) for tensor in ("starts", "ends", "log_counts")
    )

    def goes_on(carried: list[Value]) -> Value:
        number, left, going = carried
        some = build.icmp_signed(">", left, I64(0))
        return build.and_(going, build.and_(some, build.icmp_signed("<", number, room)))

    def one(carried: list[Value]) -> list[Value]:
        number, left, _ = carried
        score, group = _best(code, scores, given.number("vectors"))
        start = code.load_int(code.at(starts, (group, 4)))
        size = build.sub(code.load_int(code.at(ends, (group, 4))), start)
        taken = code.minimum(size, left)
        takes = build.fcmp_ordered(">", score, ir.Constant(FLOAT, LOWEST))
        if kind.summaries:
            takes = build.and_(takes, build.icmp_signed("==", taken, size))
        with build.if_then(takes):
            begin = build.add(first_entry, start)
            target = code.at(ranges, (number, 8))
            code.store(build.trunc(begin, I32), target)
            code.store(build.trunc(build.add(begin, taken), I32), code.at(target, I64(4)))
            code.store(ir.Constant(FLOAT, LOWEST), code.at(scores, (group, 4)))
            if kind.summaries:
                code.store(ir.Constant(FLOAT, NO_WEIGHT), code.at(log_counts, (group, 4)))
        further = build.add(number, build.zext(takes, I64))
        return [further, build.sub(left, build.select(takes, taken, I64(0))), takes]

    number, left, _ = code.loop_while([I64(0), budget, I1(1)], goes_on, one)
    code.store(build.trunc(number, I32), given.address("num_ranges", slot, kv_head))
    read = build.trunc(build.sub(budget, left), I32)
    code.store(read, given.address("entries_read", slot, kv_head))
    build.ret_void()
    return code.function


def _best(code: Code, scores: Value, vectors: Value) -> tuple[Value, Value]:
    """The highest score and its group, of equal ones the first; -inf and 0 where none is higher."""
    build = code.build
    steps = ir.Constant(INTEGERS, [LANES] * LANES)

    def vector(index: Value, carried: Sequence[Value]) -> list[Value]:
        highest, groups, here = carried
        value = code.load(code.at(scores, (index, 4 * LANES)))
        higher = build.fcmp_ordered(">", value, highest)
        return [
            build.select(higher, value, highest),
            build.select(higher, here, groups),
            build.add(here, steps),
        ]

    numbers = ir.Constant(INTEGERS, list(range(LANES)))
    none = ir.Constant(INTEGERS, [0] * LANES)
    by_lane, groups, _ = code.loop(vectors, [lanes(LOWEST), none, numbers], vector)
    score, group = code.foremost(by_lane, groups, ">")
    return score, build.sext(group, I64)
