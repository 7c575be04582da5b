"""Linear layers that read half-precision weights and compute in single precision, on CPUs.

A decode step multiplies a few rows with every weight, so it is bound by reading weights; half
the bytes is almost half the time. The weights of published Whisper models are half precision:
reading them as such changes nothing, and a layer whose weights are not is left as it is.
"""

from __future__ import annotations

import torch
from torch import nn


class HalfWeightLinear(nn.Module):
    """y = x W^T + b with W packed as float16; x, b, y float32. x: (..., in), y: (..., out)."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self._packed = torch.ops.quantized.linear_prepack_fp16(linear.weight, linear.bias)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Apply the layer."""
        result: torch.Tensor = torch.ops.quantized.linear_dynamic_fp16(inputs, self._packed)
        return result


def half_weights(linear: nn.Linear) -> nn.Module:
    """The layer with packed weights, or the layer itself if that would change its result."""
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        return linear
    weight = linear.weight
    if weight.dtype != torch.float32 or not torch.equal(weight, weight.half().float()):
        return linear
    return HalfWeightLinear(linear)


def use_half_weights(module: nn.Module) -> None:
    """Replace the Linear layers below `module`, where that changes no result."""
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear):
                setattr(parent, name, half_weights(child))
