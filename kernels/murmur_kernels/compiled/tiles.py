"""The inner loops: dot products with entries, the weighted sum of entries, the softmax.

Each function of this file adds one function to an LLVM module. `stride` is always in bytes from
one entry to the next; `head_dim` and the entries' dtype are fixed when the code is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import FLOAT, I32, I64, POINTER, VECTOR, Code, Value, lanes

PREFETCHED_ENTRIES = LANES
"""Narrow entries are asked for this far ahead: alone, the processor's own prefetching of them
leaves the arithmetic waiting, measured as a fifth of the time. Wide ones gain nothing."""

MAX_COLUMN_VECTORS = 12
"""Accumulators of the weighted sum; with a weight and an entry they fill the 16 registers."""

LOWEST_EXPONENT = -87.0
"""exp of it is still a normal float32; what is further below the maximum counts as this."""


def add_scores(module: Any, name: str, head_dim: int, dtype: torch.dtype) -> Any:
    """(query, entries, count, stride, scores): scores[j] = query . entries[j].

    Up to 7 scores beyond the last are written over; no entry beyond the last is read.
    """
    code = Code(module, name, [POINTER, POINTER, I64, I64, POINTER])
    query, entries, count, stride, scores = code.arguments
    build = code.build

    def tile(addresses: Sequence[Value], first: Value) -> None:
        totals: list[Value] = [lanes(0.0)] * LANES
        for column in range(0, head_dim, LANES):
            part = code.load(code.at(query, I64(4 * column)))
            for entry, address in enumerate(addresses):
                place = code.at(address, I64(dtype.itemsize * column))
                totals[entry] = code.fma(part, code.load_wide(place, dtype), totals[entry])
        code.store(code.sums(totals), code.at(scores, (first, 4)))

    def full_tile(index: Value, _: Sequence[Value]) -> list[Value]:
        first = build.mul(index, I64(LANES))
        base = code.at(entries, (first, stride))
        if dtype != torch.float32:
            for entry in range(PREFETCHED_ENTRIES, PREFETCHED_ENTRIES + LANES):
                code.prefetch(code.at(base, (stride, entry)), head_dim * dtype.itemsize)
        tile([code.at(base, (stride, entry)) for entry in range(LANES)], first)
        return []

    full = build.lshr(count, I64(3))
    code.loop(full, [], full_tile)
    first = build.mul(full, I64(LANES))
    with build.if_then(build.icmp_signed("<", first, count)):
        # The last entry again in place of those beyond it.
        last = build.sub(count, I64(1))
        tile(
            [
                code.at(entries, (code.minimum(build.add(first, I64(entry)), last), stride))
                for entry in range(LANES)
            ],
            first,
        )
    build.ret_void()
    return code.function


def add_mix(module: Any, name: str, head_dim: int, dtype: torch.dtype) -> Any:
    """(weights, entries, count, stride, out): out += sum over j of weights[j] entries[j]."""
    code = Code(module, name, [POINTER, POINTER, I64, I64, POINTER])
    weights, entries, count, stride, out = code.arguments
    build = code.build
    vectors = head_dim // LANES
    passes = -(-vectors // MAX_COLUMN_VECTORS)
    for number in range(passes):
        columns = range(
            vectors * number // passes * LANES, vectors * (number + 1) // passes * LANES, LANES
        )

        def entry(index: Value, totals: Sequence[Value], columns: range = columns) -> list[Value]:
            first_byte = columns.start * dtype.itemsize
            weight = code.spread(build.load(code.at(weights, (index, 4)), align=4, typ=FLOAT))
            base = code.at(entries, (index, stride))
            if dtype != torch.float32:
                ahead = code.at(base, (stride, PREFETCHED_ENTRIES), I64(first_byte))
                code.prefetch(ahead, len(columns) * LANES * dtype.itemsize)
            return [
                code.fma(
                    weight,
                    code.load_wide(code.at(base, I64(dtype.itemsize * column)), dtype),
                    total,
                )
                for column, total in zip(columns, totals, strict=True)
            ]

        places = [code.at(out, I64(4 * column)) for column in columns]
        totals = code.loop(count, [code.load(place) for place in places], entry)
        for place, total in zip(places, totals, strict=True):
            code.store(total, place)
    build.ret_void()
    return code.function


def add_widen(module: Any, name: str, head_dim: int, dtype: torch.dtype) -> Any:
    """(entries, count, stride, out): out (count, head_dim) float32 = entries."""
    code = Code(module, name, [POINTER, I64, I64, POINTER])
    entries, count, stride, out = code.arguments

    def entry(index: Value, _: Sequence[Value]) -> list[Value]:
        source = code.at(entries, (index, stride))
        target = code.at(out, (index, 4 * head_dim))
        for column in range(0, head_dim, LANES):
            wide = code.load_wide(code.at(source, I64(dtype.itemsize * column)), dtype)
            code.store(wide, code.at(target, I64(4 * column)))
        return []

    code.loop(count, [], entry)
    code.build.ret_void()
    return code.function


def add_softmax(module: Any, name: str) -> Any:
    """(scores, count): scores become probabilities; 8 floats beyond the last are written over."""
    code = Code(module, name, [POINTER, I64])
    scores, count = code.arguments
    build = code.build
    lowest = ir.Constant(FLOAT, float("-inf"))
    code.store(lanes(float("-inf")), code.at(scores, (count, 4)))
    vectors = build.lshr(build.add(count, I64(LANES - 1)), I64(3))

    def address(index: Value) -> Value:
        return code.at(scores, (index, 4 * LANES))

    def larger(index: Value, highest: Sequence[Value]) -> list[Value]:
        value = code.load(address(index))
        return [build.select(build.fcmp_ordered(">", value, highest[0]), value, highest[0])]

    def exponential(index: Value, total: Sequence[Value]) -> list[Value]:
        value = exp_below_zero(code, build.fsub(code.load(address(index)), maximum))
        code.store(value, address(index))
        return [build.fadd(total[0], value)]

    def normalise(index: Value, _: Sequence[Value]) -> list[Value]:
        code.store(build.fmul(code.load(address(index)), factor), address(index))
        return []

    (by_lane,) = code.loop(vectors, [lanes(float("-inf"))], larger)
    highest = lowest
    for lane in range(LANES):
        value = build.extract_element(by_lane, I32(lane))
        highest = build.select(build.fcmp_ordered(">", value, highest), value, highest)
    maximum = code.spread(highest)
    (total,) = code.loop(vectors, [lanes(0.0)], exponential)
    whole = build.extract_element(code.sums([total] * LANES), I32(0))
    factor = code.spread(build.fdiv(ir.Constant(FLOAT, 1.0), whole))
    code.loop(vectors, [], normalise)
    build.ret_void()
    return code.function


def exp_below_zero(code: Code, value: Value) -> Value:
    """exp of a vector of values that are at most 0, within 2 units in the last place.

    Cephes' expf: x = k ln 2 + r with |r| <= ln 2 / 2, a polynomial for exp(r), then 2^k put
    into the exponent bits. NaN stays NaN, as the comparison with the lowest exponent lets it by.
    """
    build = code.build
    below = build.fcmp_ordered("<", value, lanes(LOWEST_EXPONENT))
    value = build.select(below, lanes(LOWEST_EXPONENT), value)
    # Adding 1.5 * 2^23 leaves k in the lowest bits of the sum, rounded to nearest.
    shifter = lanes(12582912.0)
    shifted = code.fma(value, lanes(1.44269504), shifter)
    k = build.fsub(shifted, shifter)
    rest = code.fma(k, lanes(-0.693359375), value)
    rest = code.fma(k, lanes(2.12194440e-4), rest)
    result = lanes(1.9875691500e-4)
    for coefficient in (
        1.3981999507e-3,
        8.3334519073e-3,
        4.1665795894e-2,
        1.6666665459e-1,
        5.0000001201e-1,
        1.0,
        1.0,
    ):
        result = code.fma(result, rest, lanes(coefficient))
    integers = ir.VectorType(I32, LANES)
    bits = build.add(build.bitcast(shifted, integers), ir.Constant(integers, [127] * LANES))
    power = build.bitcast(build.shl(bits, ir.Constant(integers, [23] * LANES)), VECTOR)
    return build.fmul(result, power)
