"""Batch normalisation folded into the linear map beside it: the same function, fewer passes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Affine:
    """Weight and bias of a linear map or convolution."""

    weight: Tensor
    bias: Tensor


@dataclass(frozen=True, slots=True)
class HingedLinear:
    """`linear(relu(norm(x)))` as one clamp and one linear map.

    With norm(x) = s x + t, relu(norm(x)) = s clamp(x, low, high) + t, where the bound is -t / s:
    a lower one if s > 0, an upper one if s < 0. So s and t go into the linear map.
    """

    low: Tensor
    high: Tensor
    weight: Tensor
    bias: Tensor

    def __call__(self, features: Tensor) -> Tensor:
        """(..., channels) to (..., outputs)."""
        return nn.functional.linear(
            torch.clamp(features, self.low, self.high), self.weight, self.bias
        )


def scale_and_shift(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """What the normalisation does to each channel: x to scale x + shift."""
    mean, variance = norm.get_buffer("running_mean"), norm.get_buffer("running_var")
    scale = (variance + norm.eps).rsqrt()
    if norm.affine:
        scale = scale * norm.weight
    shift = -mean * scale
    return scale, shift + norm.bias if norm.affine else shift


def norm_after(weight: Tensor, norm: nn.BatchNorm1d | nn.BatchNorm2d) -> Affine:
    """Fold `norm(map(x))`; the weight's first axis are the outputs, the map has no bias."""
    scale, shift = scale_and_shift(norm)
    return Affine(weight * scale.reshape(-1, *[1] * (weight.dim() - 1)), shift)


def hinge_before(weight: Tensor, norm: nn.BatchNorm1d, bias: Tensor | None = None) -> HingedLinear:
    """Fold `weight @ relu(norm(x)) + bias`; weight is (outputs, channels)."""
    scale, shift = scale_and_shift(norm)
    bound = -shift / scale
    infinite = torch.full_like(scale, torch.inf)
    low = torch.where(scale > 0, bound, -infinite)
    high = torch.where(scale < 0, bound, infinite)
    # A channel without scale is constant: nothing to clamp, and the ReLU acts on the shift.
    low = torch.where(scale == 0, -infinite, low)
    shift = torch.where(scale == 0, shift.relu(), shift)
    folded = weight @ shift
    return HingedLinear(low, high, weight * scale, folded if bias is None else folded + bias)
