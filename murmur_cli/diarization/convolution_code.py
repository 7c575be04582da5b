"""A 3x3 convolution of 32 channels over (time, mel) as LLVM IR for vectors of 8 floats.

Over time it is Winograd's, four frames at once (see `winograd`); over mel it is direct: the
three bands that an output sees lie one after the other, so they are one row of 96 elements of a
matrix product. Sum, what is added to it and the ReLU are made in one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from murmur_cli.diarization.row_tiles import PAIR_BYTES, Operand, RowTiles, Target, read_arguments
from murmur_cli.diarization.winograd import INPUT, OUTPUT, OUTPUTS, POINTS
from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.code import I64, POINTER, Code, Value, lanes

ENTRY_POINT = "convolution"

CHANNELS = 32
BANDS = 3

ARGUMENTS = (
    *("batch", "frames", "bands", "step", "output_bands"),
    *("source", "target", "added", "added_frame"),
    *("weights", "bias", "blank", "spill", "inputs", "products"),
)
"""int64 each. source: (batch, frames, bands, 32) of `bands` mel bands; target: the same with
`output_bands`, one each `step` bands. added: like target, its bytes from frame to frame in
added_frame (0: one frame for all). weights: (6, 2, 96, 16) by point, half of the outputs, (band,
channel), output; bias: (32,). blank: a frame of zeros; spill: a frame of target, for what lies
past the end. Scratch: inputs (6, bands + 2, 32), zero in the first and last band; products (6,
output_bands, 32)."""

_BAND_BYTES = 4 * CHANNELS


def convolution_module() -> str:
    """Assembly of `void convolution(int64 *arguments)`, the names in `ARGUMENTS`."""
    module = ir.Module(ENTRY_POINT)
    _Convolution(module, RowTiles(module)).write()
    return str(module)


class _Convolution(Code):
    """Loops over sequences and over four frames at a time."""

    def __init__(self, module: Any, tiles: RowTiles) -> None:
        super().__init__(module, ENTRY_POINT, [POINTER], public=True)
        self._tiles = tiles
        self._named = read_arguments(self, ARGUMENTS)
        self._frames = self._named["frames"]
        self._input_bytes = self._bytes_of(self.build.add(self._named["bands"], I64(2)))
        self._product_bytes = self._bytes_of(self._named["output_bands"])

    def write(self) -> None:
        rounded = self.build.add(self._frames, I64(OUTPUTS - 1))
        steps = self.build.udiv(rounded, I64(OUTPUTS))

        def sequence(index: Value, _: Sequence[Value]) -> list[Value]:
            before = self.build.mul(index, self._frames)

            def step(number: Value, _: Sequence[Value]) -> list[Value]:
                first = self.build.mul(number, I64(OUTPUTS))
                self._transform_inputs(before, first)
                self._multiply()
                self._transform_products(before, first)
                return []

            self.loop(steps, [], step)
            return []

        self.loop(self._named["batch"], [], sequence)
        self.build.ret_void()

    def _pointer(self, name: str) -> Value:
        return self.build.inttoptr(self._named[name], POINTER)

    def _bytes_of(self, bands: Value) -> Value:
        return self.build.mul(bands, I64(_BAND_BYTES))

    def _frame(self, name: str, frame_bytes: Value, before: Value, time: Value, out: str) -> Value:
        """Address of frame `time` of a sequence, after `before` others; `out` if it has none."""
        # A negative time is above every count when read without sign.
        inside = self.build.icmp_unsigned("<", time, self._frames)
        place = self.at(self._pointer(name), (self.build.add(before, time), frame_bytes))
        return self.build.select(inside, place, self._pointer(out))

    def _transform_inputs(self, before: Value, first: Value) -> None:
        frame_bytes = self._bytes_of(self._named["bands"])
        frames = [
            self._frame("source", frame_bytes, before, self.build.add(first, I64(offset)), "blank")
            for offset in range(-1, POINTS - 1)
        ]

        def band(index: Value, _: Sequence[Value]) -> list[Value]:
            for lane in range(0, _BAND_BYTES, 4 * LANES):
                place = self.build.add(self._bytes_of(index), I64(lane))
                values = [self.load(self.at(frame, place)) for frame in frames]
                for point, factors in enumerate(INPUT):
                    target = self.at(
                        self._pointer("inputs"),
                        (self._input_bytes, point),
                        place,
                        I64(_BAND_BYTES),
                    )
                    self.store(self._combined(values, factors), target)
            return []

        self.loop(self._named["bands"], [], band)

    def _multiply(self) -> None:
        """The products at each point, of half of the output channels at a time."""
        halves = _BAND_BYTES // PAIR_BYTES
        band_step = self._bytes_of(self._named["step"])

        def half(index: Value, _: Sequence[Value]) -> list[Value]:
            point = self.build.udiv(index, I64(halves))
            column = self.build.mul(self.build.urem(index, I64(halves)), I64(PAIR_BYTES))
            inputs = self.at(self._pointer("inputs"), (point, self._input_bytes))
            products = self.at(self._pointer("products"), (point, self._product_bytes), column)
            self._tiles.product(
                self,
                self._named["output_bands"],
                Operand(inputs, band_step, I64(BANDS * CHANNELS)),
                Operand(inputs, band_step, I64(0)),
                self.at(self._pointer("weights"), (index, BANDS * CHANNELS * PAIR_BYTES)),
                self._pointer("blank"),
                Target(products, I64(_BAND_BYTES)),
            )
            return []

        self.loop(I64(POINTS * halves), [], half)

    def _transform_products(self, before: Value, first: Value) -> None:
        times = [self.build.add(first, I64(offset)) for offset in range(OUTPUTS)]
        targets, added = (
            [self._frame(name, size, before, time, out) for time in times]
            for name, size, out in (
                ("target", self._product_bytes, "spill"),
                ("added", self._named["added_frame"], "blank"),
            )
        )

        def band(index: Value, _: Sequence[Value]) -> list[Value]:
            for lane in range(0, _BAND_BYTES, 4 * LANES):
                place = self.build.add(self._bytes_of(index), I64(lane))
                products = self._pointer("products")
                values = [
                    self.load(self.at(products, (self._product_bytes, point), place))
                    for point in range(POINTS)
                ]
                bias = self.load(self.at(self._pointer("bias"), I64(lane)))
                for factors, target, other in zip(OUTPUT, targets, added, strict=True):
                    total = self.build.fadd(bias, self.load(self.at(other, place)))
                    total = self.build.fadd(self._combined(values, factors), total)
                    negative = self.build.fcmp_ordered("<", total, lanes(0.0))
                    total = self.build.select(negative, lanes(0.0), total)
                    self.store(total, self.at(target, place))
            return []

        self.loop(self._named["output_bands"], [], band)

    def _combined(self, values: Sequence[Value], factors: Sequence[float]) -> Value:
        """The sum of the values times their factors, of which some are 1."""
        terms = sorted(zip(factors, values, strict=True), key=lambda term: term[0] != 1.0)
        assert terms[0][0] == 1.0, factors
        total = terms[0][1]
        for factor, value in terms[1:]:
            if factor != 0.0:
                total = self.fma(value, lanes(factor), total)
        return total
