"""Entries met by all query heads of a group: one head takes them as they lie, several in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from murmur_kernels.compiled.code import I64, POINTER, Code, Value
from murmur_kernels.compiled.tiles import Layout, add_widen

BLOCK_ENTRIES = 32
"""Entries that all query heads of a group read in turn, while they lie in the nearest cache."""

PASS = [POINTER, I64, I64, POINTER, I64, POINTER, I64, I64, I64, POINTER]
"""left, its strides in bytes over heads and entries; list of entries, count; right, its strides;
group; staging: a tile for each query head of the group."""

AddTile = Callable[[Any, str, Layout], Any]


def add_pass(module: Any, name: str, add_tile: AddTile, layout: Layout, *, grouped: bool) -> Any:
    """A function of PASS over listed entries, for a group of one or of several heads."""
    assert layout.listed
    return (_add_shared if grouped else _add_single)(module, name, add_tile, layout)


def _add_single(module: Any, name: str, add_tile: AddTile, layout: Layout) -> Any:
    tile = add_tile(module, f"{name}_tile", layout)
    code = Code(module, name, PASS)
    left, _, _, entries, count, right = code.arguments[:6]
    code.build.call(tile, [left, entries, count, right])
    code.build.ret_void()
    return code.function


def _add_shared(module: Any, name: str, add_tile: AddTile, layout: Layout) -> Any:
    """A block is widened to float32 once for all, so memory is read once whatever the group."""
    widen, read = None, layout
    if layout.is_narrow:
        widen = add_widen(module, f"{name}_widen", layout)
        read = replace(layout, dtype=torch.float32, listed=False)
    tile = add_tile(module, f"{name}_tile", read)
    code = Code(module, name, PASS)
    left, left_head, left_entry, entries, count = code.arguments[:5]
    right, right_head, right_entry, group, staging = code.arguments[5:]
    build = code.build

    def block(index: Value, _: Sequence[Value]) -> list[Value]:
        first = build.mul(index, I64(BLOCK_ENTRIES))
        size = code.minimum(build.sub(count, first), I64(BLOCK_ENTRIES))
        source = code.at(entries, (first, 8))
        if widen is not None:
            build.call(widen, [source, source, size, staging])
            source = staging

        def head(index: Value, _: Sequence[Value]) -> list[Value]:
            head_left = code.at(left, (index, left_head), (first, left_entry))
            head_right = code.at(right, (index, right_head), (first, right_entry))
            build.call(tile, [head_left, source, size, head_right])
            return []

        code.loop(group, [], head)
        return []

    blocks = build.udiv(build.add(count, I64(BLOCK_ENTRIES - 1)), I64(BLOCK_ENTRIES))
    code.loop(blocks, [], block)
    build.ret_void()
    return code.function
