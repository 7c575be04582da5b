from __future__ import annotations

import pytest
import torch
from torch import nn

from murmur_cli.asr.whisper.half_weight_linear import (
    HalfWeightLinear,
    half_weights,
    use_half_weights,
)

needs_fbgemm = pytest.mark.skipif(
    "fbgemm" not in torch.backends.quantized.supported_engines,
    reason="this build of torch has no half-precision products on the CPU",
)


def linear(inputs: int, outputs: int, *, bias: bool = True, exact: bool = True) -> nn.Linear:
    made = nn.Linear(inputs, outputs, bias=bias)
    if exact:
        made.weight.data = made.weight.data.half().float()
    return made.eval().requires_grad_(False)


@needs_fbgemm
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1, 64), (16, 64), (3, 5, 64)])
def test_half_weights_when_weights_are_half_then_same_result(
    shape: tuple[int, ...], bias: bool
) -> None:
    plain = linear(64, 33, bias=bias)
    plain.weight.data[0, :4] = torch.tensor([2**-24, -(2**-24), 65504.0, 0.0])  # the format's ends
    packed = half_weights(plain)
    assert isinstance(packed, HalfWeightLinear)
    inputs = torch.randn(shape)
    wanted = inputs.double() @ plain.weight.double().T
    wanted = wanted + plain.bias.double() if bias else wanted
    # A sum of 64 products in float32: a few units in the last place of the largest sum of sizes.
    size = (inputs.abs().double() @ plain.weight.abs().double().T).amax()
    error = (packed(inputs).double() - wanted).abs().amax()
    assert packed(inputs).dtype == torch.float32
    assert error <= 8 * torch.finfo(torch.float32).eps * size


def test_half_weights_when_they_would_be_rounded_then_layer_is_left() -> None:
    plain = linear(8, 8, exact=False)
    assert half_weights(plain) is plain


@needs_fbgemm
def test_use_half_weights_when_nested_then_every_exact_layer_is_replaced() -> None:
    inner = nn.Sequential(linear(8, 8), nn.GELU(), linear(8, 8, exact=False))
    outer = nn.Sequential(inner, linear(8, 4))
    inputs = torch.randn(2, 8)
    wanted = outer(inputs)
    use_half_weights(outer)
    assert [type(layer).__name__ for layer in inner] == ["HalfWeightLinear", "GELU", "Linear"]
    assert isinstance(outer[1], HalfWeightLinear)
    torch.testing.assert_close(outer(inputs), wanted, rtol=0, atol=1e-5)
