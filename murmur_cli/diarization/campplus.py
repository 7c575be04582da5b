"""CAM++, the network that turns log-mel features into a speaker embedding.

Own implementation with the parameter names of the published checkpoint
(speech_campplus_sv_zh_en_16k-common_advanced). Source: H. Wang et al., "CAM++: a fast and
efficient network for speaker verification using context-aware masking" (arXiv:2303.00332).
"""

from __future__ import annotations

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEATURES = 80
"""Mel bands the network takes."""

DIMENSION = 192
"""Length of an embedding."""

_GROWTH = 32
_BOTTLENECK = 128
_CONTEXT_FRAMES = 100


def _norm_relu(channels: int) -> nn.Sequential:
    return nn.Sequential(
        OrderedDict(batchnorm=nn.BatchNorm1d(channels), relu=nn.ReLU(inplace=True))
    )


class _ResidualBlock(nn.Module):
    """Two 3x3 convolutions over (mel, time); `stride` acts on mel only."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, (stride, 1), padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Sequential()
        if stride != 1:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, channels, 1, (stride, 1), bias=False), nn.BatchNorm2d(channels)
            )

    def forward(self, features: Tensor) -> Tensor:
        hidden = F.relu(self.bn1(self.conv1(features)))
        return F.relu(self.bn2(self.conv2(hidden)) + self.shortcut(features))


class _ConvolutionHead(nn.Module):
    """(batch, mel, frames) to (batch, 32 * mel / 8, frames)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(32)
        self.layer1 = nn.Sequential(_ResidualBlock(32, 2), _ResidualBlock(32, 1))
        self.layer2 = nn.Sequential(_ResidualBlock(32, 2), _ResidualBlock(32, 1))
        self.conv2 = nn.Conv2d(32, 32, 3, (2, 1), padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)

    def forward(self, features: Tensor) -> Tensor:
        hidden = F.relu(self.bn1(self.conv1(features.unsqueeze(1))))
        hidden = self.layer2(self.layer1(hidden))
        return F.relu(self.bn2(self.conv2(hidden))).flatten(1, 2)


class _ContextMask(nn.Module):
    """A convolution whose output is gated by the utterance and its 100-frame neighbourhood."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.linear_local = nn.Conv1d(
            _BOTTLENECK, _GROWTH, 3, padding=dilation, dilation=dilation, bias=False
        )
        self.linear1 = nn.Conv1d(_BOTTLENECK, _BOTTLENECK // 2, 1)
        self.linear2 = nn.Conv1d(_BOTTLENECK // 2, _GROWTH, 1)

    def forward(self, features: Tensor) -> Tensor:
        frames = features.shape[-1]
        near = F.avg_pool1d(features, _CONTEXT_FRAMES, _CONTEXT_FRAMES, ceil_mode=True)
        # The gate is constant inside a neighbourhood: compute it once there, then spread it.
        context = near + features.mean(-1, keepdim=True)
        gate = self.linear2(F.relu(self.linear1(context))).sigmoid()
        gate = gate.repeat_interleave(_CONTEXT_FRAMES, dim=-1)[..., :frames]
        gated: Tensor = self.linear_local(features) * gate
        return gated


class _DenseLayer(nn.Module):
    """Bottleneck and context mask; adds 32 channels."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.nonlinear1 = _norm_relu(channels)
        self.linear1 = nn.Conv1d(channels, _BOTTLENECK, 1, bias=False)
        self.nonlinear2 = _norm_relu(_BOTTLENECK)
        self.cam_layer = _ContextMask(dilation)

    def forward(self, features: Tensor) -> Tensor:
        hidden = self.nonlinear2(self.linear1(self.nonlinear1(features)))
        out: Tensor = self.cam_layer(hidden)
        return out


class _DenseBlock(nn.Module):
    """Layers that each see the outputs of all before them."""

    def __init__(self, num_layers: int, channels: int, dilation: int) -> None:
        super().__init__()
        for index in range(num_layers):
            layer = _DenseLayer(channels + index * _GROWTH, dilation)
            self.add_module(f"tdnnd{index + 1}", layer)

    def forward(self, features: Tensor) -> Tensor:
        for layer in self.children():
            features = torch.cat([features, layer(features)], dim=1)
        return features


class _Transit(nn.Module):
    """Halves the channels after a dense block."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.nonlinear = _norm_relu(channels)
        self.linear = nn.Conv1d(channels, channels // 2, 1, bias=False)

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.linear(self.nonlinear(features))
        return out


class _InputLayer(nn.Module):
    """Five-frame convolution that halves the frame rate."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Conv1d(channels, 128, 5, stride=2, padding=2, bias=False)
        self.nonlinear = _norm_relu(128)

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.nonlinear(self.linear(features))
        return out


class _StatisticsPool(nn.Module):
    """Mean and standard deviation over time."""

    def forward(self, features: Tensor) -> Tensor:
        return torch.cat([features.mean(-1), features.std(-1)], dim=-1)


class _OutputLayer(nn.Module):
    """Projection to the embedding, normalised without scale."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Conv1d(channels, DIMENSION, 1, bias=False)
        self.nonlinear = nn.Sequential(
            OrderedDict(batchnorm=nn.BatchNorm1d(DIMENSION, affine=False))
        )

    def forward(self, statistics: Tensor) -> Tensor:
        out: Tensor = self.nonlinear(self.linear(statistics.unsqueeze(-1)).squeeze(-1))
        return out


class CamPlusPlus(nn.Module):
    """Log-mel features to speaker embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.head = _ConvolutionHead()
        layers: OrderedDict[str, nn.Module] = OrderedDict(tdnn=_InputLayer(32 * FEATURES // 8))
        channels = 128
        for index, (num_layers, dilation) in enumerate(((12, 1), (24, 2), (16, 2)), start=1):
            layers[f"block{index}"] = _DenseBlock(num_layers, channels, dilation)
            channels += num_layers * _GROWTH
            layers[f"transit{index}"] = _Transit(channels)
            channels //= 2
        layers["out_nonlinear"] = _norm_relu(channels)
        layers["stats"] = _StatisticsPool()
        layers["dense"] = _OutputLayer(2 * channels)
        self.xvector = nn.Sequential(layers)

    def forward(self, features: Tensor) -> Tensor:
        """(batch, frames, 80) with zero mean over frames to (batch, 192); at least 4 frames."""
        out: Tensor = self.xvector(self.head(features.transpose(1, 2)))
        return out
