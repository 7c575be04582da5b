"""The softmax of a list of scores, in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import (
    FLOAT,
    I32,
    I64,
    INTEGERS,
    POINTER,
    VECTOR,
    Code,
    Value,
    lanes,
)

LOWEST_EXPONENT = -87.0
"""exp of it is still a normal float32; of what is further below the maximum it is set to 0."""

LOWEST_MAXIMUM = float.fromhex("-0x1.fffffep127")
"""The lowest finite float32: the maximum is one also where all scores are -inf, or there is none,
so that their exponentials are 0."""

SCORES_BEYOND = LANES
"""Floats after the last score that may be written over: the rest of a vector, and padding."""


def add_softmax(module: Any, name: str) -> Any:
    """(scores, count, sums): scores become probabilities, sums their maximum and denominator.

    The log-sum-exp is the maximum plus the logarithm of the denominator, which is 0 without
    scores above -inf; the probabilities then are too.
    """
    code = Code(module, name, [POINTER, I64, POINTER])
    scores, count, sums = code.arguments
    build = code.build
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

    (by_lane,) = code.loop(vectors, [lanes(LOWEST_MAXIMUM)], larger)
    highest = build.extract_element(by_lane, I32(0))
    for lane in range(1, LANES):
        value = build.extract_element(by_lane, I32(lane))
        highest = build.select(build.fcmp_ordered(">", value, highest), value, highest)
    maximum = code.spread(highest)
    (total,) = code.loop(vectors, [lanes(0.0)], exponential)
    whole = build.extract_element(code.sums([total] * LANES), I32(0))
    code.store(highest, sums)
    code.store(whole, code.at(sums, I64(4)))
    nothing = build.fcmp_ordered("==", whole, ir.Constant(FLOAT, 0.0))
    divisor = build.select(nothing, ir.Constant(FLOAT, 1.0), whole)
    factor = code.spread(build.fdiv(ir.Constant(FLOAT, 1.0), divisor))
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
    bits = build.add(build.bitcast(shifted, INTEGERS), ir.Constant(INTEGERS, [127] * LANES))
    power = build.bitcast(build.shl(bits, ir.Constant(INTEGERS, [23] * LANES)), VECTOR)
    return build.select(below, lanes(0.0), build.fmul(result, power))
