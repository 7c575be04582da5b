"""One task of the making of trees: the whole tree of a row and KV head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from murmur_kernels.compiled.argument_block import Arguments
from murmur_kernels.compiled.code import I32, I64, POINTER, Code, Value
from murmur_kernels.compiled.tree_arguments import TREE
from murmur_kernels.compiled.two_means_code import add_split, lists_offset

LISTS = 2
"""Of a number for each place: sides, and entries that move."""


def scratch_bytes(head_dim: int, places: int, list_bytes: int) -> int:
    """Of one thread: what a split needs, and the vectors of all entries."""
    return lists_offset(head_dim) + LISTS * list_bytes + 4 * head_dim * places


def add_tree_task(
    module: Any, name: str, head_dim: int, dtype: torch.dtype, *, cosine: bool
) -> Any:
    """(arguments, scratch, number): row number // kv_heads, KV head number % kv_heads.

    `permutation` holds the entries 0, 1, 2, … and node tables zeros when it is called.
    """
    vectors = _add_vectors(module, f"{name}_vectors", head_dim, dtype, cosine=cosine)
    split = add_split(module, f"{name}_split", head_dim, cosine=cosine)
    code = Code(module, name, [POINTER, POINTER, I64])
    block, scratch, number = code.arguments
    build, given = code.build, Arguments(code, block, TREE)
    row = build.udiv(number, given.number("kv_heads"))
    kv_head = build.urem(number, given.number("kv_heads"))
    list_bytes = given.number("list_bytes")
    entries = code.at(scratch, I64(lists_offset(head_dim)), (list_bytes, LISTS))
    build.call(vectors, [block, row, kv_head, entries])
    order = given.address("permutation", row, kv_head)
    starts, ends, left_children, parents = (
        given.address(table, row, kv_head)
        for table in ("node_starts", "node_ends", "left_children", "parents")
    )

    def put(table: Value, node: Value, value: Value) -> None:
        code.store(build.trunc(value, I32), code.at(table, (node, 4)))

    put(ends, I64(0), code.load_int(given.address("lengths", row)))
    levels, leaf_size = given.number("levels"), given.number("leaf_size")

    def level(index: Value, carried: Sequence[Value]) -> list[Value]:
        first, end = carried
        below = build.sub(build.sub(levels, index), I64(1))
        max_child = build.shl(leaf_size, below)

        def node(index: Value, carried: Sequence[Value]) -> list[Value]:
            number, child = build.add(first, index), carried[0]
            start, stop = (code.load_int(code.at(table, (number, 4))) for table in (starts, ends))
            size = build.sub(stop, start)
            splits = build.icmp_signed(">", size, leaf_size)
            with build.if_then(splits):
                steps = [given.number("iterations"), given.number("seed")]
                own = code.at(order, (start, 4))
                build.call(
                    split,
                    [entries, own, start, size, max_child, *steps, scratch, list_bytes],
                )
                cut = build.add(start, build.load(scratch, align=8, typ=I64))
                put(left_children, number, child)
                sibling = build.add(child, I64(1))
                for place, begin, close in ((child, start, cut), (sibling, cut, stop)):
                    put(starts, place, begin)
                    put(ends, place, close)
                    put(parents, place, number)
            return [build.add(child, build.select(splits, I64(2), I64(0)))]

        (following,) = code.loop(build.sub(end, first), [end], node)
        return [end, following]

    _, count = code.loop(levels, [I64(0), I64(1)], level)
    code.store(build.trunc(count, I32), given.address("node_counts", row, kv_head))
    build.ret_void()
    return code.function


def _add_vectors(module: Any, name: str, head_dim: int, dtype: torch.dtype, *, cosine: bool) -> Any:
    """(arguments, row, kv_head, target): the region's keys as float32, of length one if `cosine`.

    A zero vector stays one.
    """
    code = Code(module, name, [POINTER, I64, I64, POINTER])
    block, row, kv_head, target = code.arguments
    build, given = code.build, Arguments(code, block, TREE)
    slot, start = (code.load_int(given.address(part, row)) for part in ("slots", "starts"))
    first = given.address("keys", slot, kv_head, start)
    stride = given.stride("keys", 2)

    def one(index: Value, _: Sequence[Value]) -> list[Value]:
        source, place = code.at(first, (index, stride)), code.at(target, (index, 4 * head_dim))
        columns = range(0, head_dim, 8)
        loaded = [
            code.load_wide(code.at(source, I64(dtype.itemsize * column)), dtype)
            for column in columns
        ]
        if cosine:
            length = code.length(loaded)
            loaded = [build.fdiv(part, length) for part in loaded]
        for column, part in zip(columns, loaded, strict=True):
            code.store(part, code.at(place, I64(4 * column)))
        return []

    code.loop(code.load_int(given.address("lengths", row)), [], one)
    build.ret_void()
    return code.function
