"""Which arithmetic the encoder's matrix products use on a CPU, chosen by measuring.

The encoder is the larger part of Whisper's work on a CPU. What is fastest depends on the
processor: some multiply bfloat16 many times faster than float32, others not at all. A precision
(`--precision`) names what may be given up; among what it allows, the fastest product on this
machine is taken. Products of int8 are not among them: they change 10 % of the words (see
ARCHITECTURE.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

import torch
from torch import nn
from torch.nn import functional

from murmur_cli.settings import Precision


class EncoderArithmetic(StrEnum):
    """Number format of the products; sums and all else stay float32 unless noted."""

    FLOAT32 = "float32"
    SPLIT_BFLOAT16 = "split-bfloat16"
    """Each operand as the sum of two bfloat16 numbers, three of the four products: 16 bits of
    mantissa where float32 has 24. The text is that of float32."""
    BFLOAT16 = "bfloat16"
    """The whole encoder, attention and sums between layers included."""


ALLOWED: dict[Precision, tuple[EncoderArithmetic, ...]] = {
    Precision.FLOAT32: (EncoderArithmetic.FLOAT32,),
    Precision.EXACT: (EncoderArithmetic.FLOAT32, EncoderArithmetic.SPLIT_BFLOAT16),
    Precision.FAST: tuple(EncoderArithmetic),
}

PROBE_ROWS = 1500
"""Rows of the measured product: the entries of one window."""

PROBE_REPEATS = 3

REQUIRED_GAIN = 1.2
"""A less exact product must be this much faster, so that noise does not choose between equals."""


def choose_arithmetic(precision: Precision, layer: nn.Linear) -> EncoderArithmetic:
    """The fastest product that the precision allows, measured on `layer` (tens of ms).

    Formats that the processor has no instructions for are not tried.
    """
    allowed = [kind for kind in ALLOWED[precision] if _has_instructions(kind)]
    if len(allowed) == 1:
        return allowed[0]
    best, best_s = allowed[0], _product_s(layer, allowed[0])
    for kind in allowed[1:]:
        taken_s = _product_s(layer, kind)
        if taken_s * REQUIRED_GAIN < best_s:
            best, best_s = kind, taken_s
    return best


def apply_arithmetic(module: nn.Module, arithmetic: EncoderArithmetic) -> None:
    """Make the Linear layers below `module` compute so; bfloat16 converts the module itself."""
    if arithmetic is EncoderArithmetic.FLOAT32:
        return
    if arithmetic is EncoderArithmetic.BFLOAT16:
        module.to(torch.bfloat16)
        return
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear):
                setattr(parent, name, linear_with(child, arithmetic))


def linear_with(linear: nn.Linear, arithmetic: EncoderArithmetic) -> nn.Module:
    """The layer in another arithmetic; inputs and outputs stay float32 except in bfloat16."""
    match arithmetic:
        case EncoderArithmetic.FLOAT32:
            return linear
        case EncoderArithmetic.SPLIT_BFLOAT16:
            return SplitLinear(linear)
        case EncoderArithmetic.BFLOAT16:
            copy = nn.Linear(linear.in_features, linear.out_features, linear.bias is not None)
            copy.load_state_dict(linear.state_dict())
            return copy.to(torch.bfloat16)


def speech_projection(linear: nn.Linear, arithmetic: EncoderArithmetic) -> nn.Module:
    """A decoder's layer that sees all states of a window: like the encoder's, float32 in and out.

    Where the encoder is bfloat16 as a whole, the layer splits its operands instead.
    """
    if arithmetic is EncoderArithmetic.BFLOAT16:
        return SplitLinear(linear)
    return linear_with(linear, arithmetic)


class SplitLinear(nn.Module):
    """y = x W^T + b by three bfloat16 products: x1 W1 + x2 W1 + x1 W2, summed in float32.

    x = x1 + x2 and W = W1 + W2 with bfloat16 parts; the product x2 W2, about 2^-16 of the
    result, is left out. The parts are held as float32 and multiplied inside
    `bfloat16_products`, where the processor may drop the bits that they do not have.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        high, low = split_bfloat16(linear.weight.detach())
        self._weight = torch.cat([high, high, low], dim=1)
        self._bias = linear.bias

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """inputs: (..., in) float32; result (..., out) float32."""
        high, low = split_bfloat16(inputs)
        with bfloat16_products():
            return functional.linear(torch.cat([high, low, high], dim=-1), self._weight, self._bias)


def split_bfloat16(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """High and low part, both float32 with at most 8 bits of mantissa; their sum has 16."""
    high = values.bfloat16().float()
    return high, (values - high).bfloat16().float()


@contextmanager
def bfloat16_products() -> Iterator[None]:
    """Let float32 matrix products read bfloat16 where the processor multiplies it faster."""
    settings = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]  # made at run time
    before = settings.fp32_precision
    settings.fp32_precision = "bf16"
    try:
        yield
    finally:
        settings.fp32_precision = before


def _has_instructions(arithmetic: EncoderArithmetic) -> bool:
    match arithmetic:
        case EncoderArithmetic.FLOAT32:
            return True
        case EncoderArithmetic.SPLIT_BFLOAT16 | EncoderArithmetic.BFLOAT16:
            return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def _product_s(layer: nn.Linear, arithmetic: EncoderArithmetic) -> float:
    """Seconds of one product, the least of a few."""
    candidate = linear_with(layer, arithmetic)
    dtype = torch.bfloat16 if arithmetic is EncoderArithmetic.BFLOAT16 else torch.float32
    inputs = torch.ones(PROBE_ROWS, layer.in_features, dtype=dtype)
    with torch.inference_mode():
        return min(_seconds(lambda: candidate(inputs)) for _ in range(PROBE_REPEATS))


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
