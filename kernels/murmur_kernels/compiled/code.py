"""Idioms of LLVM IR that the kernel is written with: addresses, vectors of 8 floats, loops.

Float arithmetic carries no fast-math flag: sums are made in the order written here, so a result
depends neither on the tile an entry falls into nor on the compiler's version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from llvmlite import ir

from murmur_kernels.compiled import LANES

CACHE_LINE_BYTES = 64

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
FLOAT, POINTER = ir.FloatType(), ir.PointerType()
VECTOR, INTEGERS, LONGS = (ir.VectorType(kind, LANES) for kind in (FLOAT, I32, I64))

Value = Any
"""An SSA value; llvmlite has no type information."""


def lanes(value: float) -> Value:
    """A vector constant."""
    return ir.Constant(VECTOR, [value] * LANES)


class Code:
    """Writes the body of one function.

    Attributes:
        arguments: the function's parameters.
    """

    def __init__(
        self, module: Any, name: str, parameters: Sequence[Any], *, public: bool = False
    ) -> None:
        self._module = module
        self.function = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), name)
        self.function.linkage = "external" if public else "internal"
        self.arguments: list[Value] = list(self.function.args)
        self.build = ir.IRBuilder(self.function.append_basic_block())

    # --- integers and addresses --------------------------------------------------------------

    def at(self, base: Value, *terms: Value | tuple[Value, int | Value]) -> Value:
        """Address `base` plus bytes; a term (a, b) is a product."""
        offset = I64(0)
        for term in terms:
            if isinstance(term, tuple):
                factor = term[1] if isinstance(term[1], ir.Value) else I64(term[1])
                term = self.build.mul(term[0], factor)
            offset = self.build.add(offset, term)
        return self.build.gep(base, [offset], source_etype=ir.IntType(8))

    def load_address(self, address: Value) -> Value:
        """One address."""
        return self.build.load(address, align=8, typ=POINTER)

    def load_int(self, address: Value) -> Value:
        """An int32, as int64."""
        return self.build.sext(self.build.load(address, align=4, typ=I32), I64)

    def load_float(self, address: Value) -> Value:
        """One float."""
        return self.build.load(address, align=4, typ=FLOAT)

    def minimum(self, left: Value, right: Value) -> Value:
        """The smaller of two signed integers."""
        return self.build.select(self.build.icmp_signed("<", left, right), left, right)

    # --- vectors -----------------------------------------------------------------------------

    def load(self, address: Value) -> Value:
        """Eight floats."""
        return self.build.load(address, align=4, typ=VECTOR)

    def store(self, value: Value, address: Value) -> None:
        """Write a number or a vector of them."""
        self.build.store(value, address, align=4)

    def load_wide(self, address: Value, dtype: torch.dtype) -> Value:
        """Eight elements of `dtype` as floats; exact for every finite value."""
        if dtype == torch.float32:
            return self.load(address)
        if dtype == torch.float16:
            halves = self.build.load(address, align=2, typ=ir.VectorType(ir.HalfType(), LANES))
            return self.build.fpext(halves, VECTOR)
        assert dtype == torch.bfloat16, dtype
        # bfloat16 is the upper half of a float32
        bits = self.build.load(address, align=2, typ=ir.VectorType(I16, LANES))
        wide = self.build.zext(bits, INTEGERS)
        shifted = self.build.shl(wide, ir.Constant(wide.type, [16] * LANES))
        return self.build.bitcast(shifted, VECTOR)

    def prefetch(self, address: Value, size: int) -> None:
        """Ask for the cache lines of `size` bytes; an address that does not exist does no harm."""
        flags = [I32] * 3
        function = self._intrinsic("llvm.prefetch.p0", ir.VoidType(), [POINTER, *flags])
        for offset in range(0, size, CACHE_LINE_BYTES):
            # to read, into every level, data
            place = self.at(address, I64(offset))
            self.build.call(function, [place, I32(0), I32(3), I32(1)])

    def _intrinsic(self, name: str, result: Any, parameters: Sequence[Any]) -> Any:
        known = self._module.globals.get(name)
        return known or ir.Function(self._module, ir.FunctionType(result, parameters), name)

    def magnitude(self, value: Value) -> Value:
        """Absolute values."""
        function = self._intrinsic(f"llvm.fabs.v{LANES}f32", VECTOR, [VECTOR])
        return self.build.call(function, [value])

    def root(self, value: Value) -> Value:
        """Square roots."""
        function = self._intrinsic(f"llvm.sqrt.v{LANES}f32", VECTOR, [VECTOR])
        return self.build.call(function, [value])

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c, rounded once."""
        function = self._intrinsic(f"llvm.fma.v{LANES}f32", VECTOR, [VECTOR] * 3)
        return self.build.call(function, [a, b, c])

    def spread(self, value: Value) -> Value:
        """A number in every lane."""
        undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
        first = self.build.insert_element(undefined, value, I32(0))
        return self.pick(first, undefined, [0] * LANES)

    def pick(self, left: Value, right: Value, places: Sequence[int]) -> Value:
        """Lanes of two vectors, numbered 0 to 7 and 8 to 15."""
        mask = ir.Constant(ir.VectorType(I32, len(places)), list(places))
        return self.build.shuffle_vector(left, right, mask)

    def sums(self, vectors: Sequence[Value]) -> Value:
        """Lane i is the sum of the lanes of vectors[i]; eight vectors, one order for all."""
        # Each round adds two halves of every vector and packs two results into one.
        low = ([0, 8, 1, 9, 4, 12, 5, 13], [0, 1, 8, 9, 4, 5, 12, 13], [0, 1, 2, 3, 8, 9, 10, 11])
        high = (
            [2, 10, 3, 11, 6, 14, 7, 15],
            [2, 3, 10, 11, 6, 7, 14, 15],
            [4, 5, 6, 7, 12, 13, 14, 15],
        )
        assert len(vectors) == LANES, len(vectors)
        level = list(vectors)
        for first, second in zip(low, high, strict=True):
            level = [
                self.build.fadd(self.pick(a, b, first), self.pick(a, b, second))
                for a, b in zip(level[::2], level[1::2], strict=True)
            ]
        return level[0]

    def length(self, parts: Sequence[Value]) -> Value:
        """In every lane the length of the vector that the parts are; 1 if it is 0."""
        total: Value = lanes(0.0)
        for part in parts:
            total = self.fma(part, part, total)
        length = self.root(self.sums([total] * LANES))
        some = self.build.fcmp_ordered("!=", length, lanes(0.0))
        return self.build.select(some, length, lanes(1.0))

    # --- control flow ------------------------------------------------------------------------

    def foremost(self, values: Value, numbers: Value, better: str) -> tuple[Value, Value]:
        """Of vectors of values and their numbers the best value and its number, of equals the
        lowest. better: '<' or '>'.
        """
        build = self.build
        best, number = (build.extract_element(part, I32(0)) for part in (values, numbers))
        for lane in range(1, LANES):
            value, own = (build.extract_element(part, I32(lane)) for part in (values, numbers))
            equal = build.fcmp_ordered("==", value, best)
            earlier = build.and_(equal, build.icmp_signed("<", own, number))
            takes = build.or_(build.fcmp_ordered(better, value, best), earlier)
            best = build.select(takes, value, best)
            number = build.select(takes, own, number)
        return best, number

    def loop(
        self,
        count: Value,
        carried: Sequence[Value],
        body: Callable[[Value, list[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Run `body(index, carried)` for each index below `count`; it gives the next carried."""
        build = self.build
        before = build.block
        head, inside, after = (build.append_basic_block() for _ in range(3))
        build.branch(head)
        build.position_at_end(head)
        index = build.phi(I64)
        values = [build.phi(value.type) for value in carried]
        build.cbranch(build.icmp_signed("<", index, count), inside, after)
        build.position_at_end(inside)
        following = body(index, values)
        step = build.add(index, I64(1))
        build.branch(head)
        for phi, first, later in zip(
            [index, *values], [I64(0), *carried], [step, *following], strict=True
        ):
            phi.add_incoming(first, before)
            phi.add_incoming(later, build.block)
        build.position_at_end(after)
        return values

    def loop_while(
        self,
        carried: Sequence[Value],
        goes_on: Callable[[list[Value]], Value],
        body: Callable[[list[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Run `body(carried)`, which gives the next carried, as long as `goes_on(carried)`."""
        build = self.build
        before = build.block
        head, inside, after = (build.append_basic_block() for _ in range(3))
        build.branch(head)
        build.position_at_end(head)
        values = [build.phi(value.type) for value in carried]
        build.cbranch(goes_on(values), inside, after)
        build.position_at_end(inside)
        following = body(values)
        build.branch(head)
        for phi, first, later in zip(values, carried, following, strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(later, build.block)
        build.position_at_end(after)
        return values
