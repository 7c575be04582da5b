"""CAM++ as it runs: normalisation folded, channels last, no copy of what a dense block has.

Equal to the published network up to rounding. Features go through as (batch, frames, channels),
so that every 1x1 convolution is one matrix product, and a dense block writes its layers' outputs
side by side into one buffer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from murmur_cli.diarization.campplus import (
    BLOCKS,
    CONTEXT_FRAMES,
    FEATURES,
    GROWTH,
    CamPlusPlus,
    ConvolutionHead,
    DenseLayer,
    ResidualBlock,
)
from murmur_cli.diarization.convolution import ReluConvolution
from murmur_cli.diarization.folding import (
    Affine,
    HingedLinear,
    hinge_before,
    norm_after,
    scale_and_shift,
)

_HALVE_MEL = (1, 2)


def _over_time_and_mel(convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> Affine:
    """The checkpoint convolves over (mel, time); here time comes first."""
    folded = norm_after(convolution.weight, norm)
    kernel = folded.weight.transpose(2, 3).contiguous(memory_format=torch.channels_last)
    return Affine(kernel, folded.bias)


class _FoldedResidual:
    def __init__(self, block: ResidualBlock) -> None:
        shortcut: list[Any] = list(block.shortcut)
        self._shortcut = _over_time_and_mel(*shortcut) if shortcut else None
        mel_step = _HALVE_MEL[1] if shortcut else 1
        self._first = ReluConvolution(_over_time_and_mel(block.conv1, block.bn1), mel_step)
        self._second = ReluConvolution(_over_time_and_mel(block.conv2, block.bn2), 1)

    def __call__(self, features: Tensor) -> Tensor:
        hidden = self._first(features)
        if self._shortcut is not None:
            features = F.conv2d(features, self._shortcut.weight, self._shortcut.bias, _HALVE_MEL)
        return self._second(hidden, features)


class _FoldedHead:
    """(batch, 1, frames, 80) to (batch, 32, frames, 10), channels last."""

    def __init__(self, head: ConvolutionHead) -> None:
        self._first = _over_time_and_mel(head.conv1, head.bn1)
        blocks: list[Any] = [*head.layer1, *head.layer2]
        self._blocks = [_FoldedResidual(block) for block in blocks]
        self._last = ReluConvolution(_over_time_and_mel(head.conv2, head.bn2), _HALVE_MEL[1])

    def __call__(self, features: Tensor) -> Tensor:
        hidden = F.conv2d(features, self._first.weight, self._first.bias, padding=1).relu_()
        for block in self._blocks:
            hidden = block(hidden)
        return self._last(hidden)


class _FoldedDenseLayer:
    def __init__(self, layer: DenseLayer, dilation: int) -> None:
        bottleneck = norm_after(layer.linear1.weight[..., 0], layer.nonlinear2.batchnorm)
        self._bottleneck: HingedLinear = hinge_before(
            bottleneck.weight, layer.nonlinear1.batchnorm, bottleneck.bias
        )
        mask = layer.cam_layer
        # The three taps of the convolution, one below the other.
        self._taps = mask.linear_local.weight.permute(2, 0, 1).flatten(0, 1).contiguous()
        self._dilation = dilation
        self._squeeze = _pointwise(mask.linear1)
        self._excite = _pointwise(mask.linear2)

    def __call__(self, features: Tensor, out: Tensor) -> None:
        """Reads (batch, frames, channels), writes (batch, frames, 32)."""
        hidden = self._bottleneck(features).relu_()
        before, here, after = torch.split(F.linear(hidden, self._taps), GROWTH, dim=-1)
        out.copy_(here)
        shift = self._dilation
        out[:, shift:] += before[:, :-shift]
        out[:, :-shift] += after[:, shift:]
        out *= self._gate(hidden)

    def _gate(self, hidden: Tensor) -> Tensor:
        """The gate is constant in a neighbourhood: it is found once there, then spread."""
        frames = hidden.shape[1]
        context = hidden.mean(1, keepdim=True)
        if frames > CONTEXT_FRAMES:
            parts = torch.split(hidden, CONTEXT_FRAMES, dim=1)
            context = context + torch.stack([part.mean(1) for part in parts], dim=1)
        else:
            context = 2 * context
        squeezed = F.linear(context, self._squeeze.weight, self._squeeze.bias).relu_()
        gate = F.linear(squeezed, self._excite.weight, self._excite.bias).sigmoid_()
        if frames > CONTEXT_FRAMES:
            gate = gate.repeat_interleave(CONTEXT_FRAMES, dim=1)[:, :frames]
        return gate


@dataclass(frozen=True, slots=True)
class _FoldedDenseBlock:
    """A dense block with the layer after it, which halves the channels."""

    layers: tuple[_FoldedDenseLayer, ...]
    transit: HingedLinear

    def __call__(self, features: Tensor) -> Tensor:
        batch, frames, channels = features.shape
        joined = features.new_empty(batch, frames, channels + GROWTH * len(self.layers))
        joined[..., :channels] = features
        for layer in self.layers:
            layer(joined[..., :channels], joined[..., channels : channels + GROWTH])
            channels += GROWTH
        return self.transit(joined)


class FoldedCamPlusPlus:
    """Log-mel features to speaker embeddings."""

    def __init__(self, network: CamPlusPlus) -> None:
        """Fold the parameters of a loaded network."""
        layers: Any = network.xvector
        self._head = _FoldedHead(network.head)
        entry = norm_after(layers.tdnn.linear.weight, layers.tdnn.nonlinear.batchnorm)
        kernel = entry.weight.view(128, -1, FEATURES // 8, 5).transpose(2, 3)
        self._entry = Affine(kernel.contiguous(memory_format=torch.channels_last), entry.bias)
        self._blocks = tuple(_dense_blocks(layers))
        self._scale, self._shift = scale_and_shift(layers.out_nonlinear.batchnorm)
        self._output = norm_after(
            layers.dense.linear.weight[..., 0], layers.dense.nonlinear.batchnorm
        )

    def __call__(self, features: Tensor) -> Tensor:
        """(batch, frames, 80) with zero mean over frames to (batch, 192); at least 4 frames."""
        image = features.unsqueeze(1).contiguous(memory_format=torch.channels_last)
        entry = self._entry
        # One step over all mel bands: (batch, 128, frames / 2, 1), channels last.
        hidden = F.conv2d(self._head(image), entry.weight, entry.bias, (2, 1), padding=(2, 0))
        hidden = hidden.relu_().squeeze(-1).transpose(1, 2)
        for block in self._blocks:
            hidden = block(hidden)
        hidden = torch.addcmul(self._shift, hidden, self._scale).relu_()
        mean = hidden.mean(dim=1, keepdim=True)
        # Two passes by hand: ten times faster than torch.var, which is not vectorised here.
        variance = (hidden - mean).square_().sum(dim=1) / (hidden.shape[1] - 1)
        statistics = torch.cat([mean.squeeze(1), variance.sqrt()], dim=-1)
        return F.linear(statistics, self._output.weight, self._output.bias)


def _dense_blocks(layers: Any) -> Iterator[_FoldedDenseBlock]:
    for index, (_, dilation) in enumerate(BLOCKS, start=1):
        block, transit = getattr(layers, f"block{index}"), getattr(layers, f"transit{index}")
        yield _FoldedDenseBlock(
            tuple(_FoldedDenseLayer(layer, dilation) for layer in block.children()),
            hinge_before(transit.linear.weight[..., 0], transit.nonlinear.batchnorm),
        )


def _pointwise(convolution: nn.Conv1d) -> Affine:
    assert convolution.bias is not None
    return Affine(convolution.weight[..., 0], convolution.bias)
