"""The inner loops: dot products with entries, the weighted sum of entries, entries as float32.

Each function of this file adds one function to an LLVM module, with the parameters TILE.
`head_dim`, the entries' dtype, and whether they are `listed` are fixed when the code is made:
`entries` is a list of their addresses if so, else they lie there one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import I64, POINTER, Code, Value, lanes

TILE = [POINTER, POINTER, I64, POINTER]
"""left, entries, count, right."""

PREFETCHED_ENTRIES = 2 * LANES
"""Narrow entries of a list are asked for this far ahead: alone, the processor's own prefetching
of them leaves the arithmetic waiting, measured as a fifth of the time. Wide ones gain nothing."""

ADDRESSES_BEYOND = PREFETCHED_ENTRIES + 2 * LANES
"""Addresses behind the end of a list that are asked for, and the first 7 of them even read."""

MAX_COLUMN_VECTORS = 12
"""Accumulators of the weighted sum; with a weight and an entry they fill the 16 registers."""


@dataclass(frozen=True)
class Layout:
    """How entries lie in memory.

    Attributes:
        head_dim: elements of an entry.
        dtype: of the elements.
        listed: whether there is a list of their addresses, with ADDRESSES_BEYOND behind its end.
    """

    head_dim: int
    dtype: torch.dtype
    listed: bool

    @property
    def columns(self) -> range:
        """First elements of the vectors of an entry."""
        return range(0, self.head_dim, LANES)

    @property
    def entry_bytes(self) -> int:
        """Size of an entry."""
        return self.head_dim * self.dtype.itemsize

    @property
    def is_narrow(self) -> bool:
        """Whether elements are smaller than a float32."""
        return self.dtype != torch.float32


class _Tile(Code):
    """A function of TILE over entries of a layout."""

    def __init__(self, module: Any, name: str, layout: Layout) -> None:
        super().__init__(module, name, TILE)
        self.left, self._entries, self.count, self.right = self.arguments
        self.layout = layout

    def entry(self, index: Value, ahead: int = 0) -> Value:
        """Address of the entry `ahead` of `index`."""
        size = 8 if self.layout.listed else self.layout.entry_bytes
        place = self.at(self._entries, (index, size), I64(size * ahead))
        return self.load_address(place) if self.layout.listed else place

    def load_columns(self, address: Value, columns: range) -> list[Value]:
        """Vectors of an entry, widened."""
        size = self.layout.dtype.itemsize
        return [
            self.load_wide(self.at(address, I64(size * column)), self.layout.dtype)
            for column in columns
        ]


def add_scores(module: Any, name: str, layout: Layout) -> Any:
    """(query, entries, count, scores): scores[j] = query . entry j.

    Up to 7 scores beyond the last are written over.
    """
    code = _Tile(module, name, layout)
    build = code.build

    def tile(addresses: Sequence[Value], first: Value) -> None:
        totals: list[Value] = [lanes(0.0)] * LANES
        for column in layout.columns:
            part = code.load(code.at(code.left, I64(4 * column)))
            for entry, address in enumerate(addresses):
                (vector,) = code.load_columns(address, range(column, column + 1))
                totals[entry] = code.fma(part, vector, totals[entry])
        code.store(code.sums(totals), code.at(code.right, (first, 4)))

    def full_tile(index: Value, _: Sequence[Value]) -> list[Value]:
        first = build.mul(index, I64(LANES))
        if layout.is_narrow:
            for ahead in range(PREFETCHED_ENTRIES, PREFETCHED_ENTRIES + LANES):
                code.prefetch(code.entry(first, ahead), layout.entry_bytes)
        tile([code.entry(first, ahead) for ahead in range(LANES)], first)
        return []

    if layout.listed:
        full = build.lshr(build.add(code.count, I64(LANES - 1)), I64(3))
        code.loop(full, [], full_tile)
    else:
        full = build.lshr(code.count, I64(3))
        code.loop(full, [], full_tile)
        first = build.mul(full, I64(LANES))
        with build.if_then(build.icmp_signed("<", first, code.count)):
            # The last entry again in place of those beyond it.
            last = build.sub(code.count, I64(1))
            places = [build.add(first, I64(entry)) for entry in range(LANES)]
            tile([code.entry(code.minimum(place, last)) for place in places], first)
    build.ret_void()
    return code.function


def add_mix(module: Any, name: str, layout: Layout) -> Any:
    """(weights, entries, count, out): out += sum over j of weights[j] * entry j."""
    code = _Tile(module, name, layout)
    vectors = layout.head_dim // LANES
    passes = -(-vectors // MAX_COLUMN_VECTORS)
    for number in range(passes):
        columns = range(
            vectors * number // passes * LANES, vectors * (number + 1) // passes * LANES, LANES
        )

        def entry(index: Value, totals: Sequence[Value], columns: range = columns) -> list[Value]:
            weight = code.spread(code.load_float(code.at(code.left, (index, 4))))
            size = layout.dtype.itemsize
            if layout.is_narrow:
                ahead = code.entry(index, PREFETCHED_ENTRIES)
                code.prefetch(
                    code.at(ahead, I64(size * columns.start)), len(columns) * LANES * size
                )
            loaded = code.load_columns(code.entry(index), columns)
            return [
                code.fma(weight, vector, total)
                for vector, total in zip(loaded, totals, strict=True)
            ]

        places = [code.at(code.right, I64(4 * column)) for column in columns]
        totals = code.loop(code.count, [code.load(place) for place in places], entry)
        for place, total in zip(places, totals, strict=True):
            code.store(total, place)
    code.build.ret_void()
    return code.function


def add_widen(module: Any, name: str, layout: Layout) -> Any:
    """(anything, entries, count, out): out (count, head_dim) float32 = the entries."""
    code = _Tile(module, name, layout)

    def entry(index: Value, _: Sequence[Value]) -> list[Value]:
        target = code.at(code.right, (index, 4 * layout.head_dim))
        code.prefetch(code.entry(index, PREFETCHED_ENTRIES), layout.entry_bytes)
        loaded = code.load_columns(code.entry(index), layout.columns)
        for column, vector in zip(layout.columns, loaded, strict=True):
            code.store(vector, code.at(target, I64(4 * column)))
        return []

    code.loop(code.count, [], entry)
    code.build.ret_void()
    return code.function
