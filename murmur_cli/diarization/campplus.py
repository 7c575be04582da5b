"""CAM++, the network that turns log-mel features into a speaker embedding: its parameters.

The modules name the parameters as the published checkpoint does
(speech_campplus_sv_zh_en_16k-common_advanced) and compute nothing; `folded_campplus` runs what
they hold. Source: H. Wang et al., "CAM++: a fast and efficient network for speaker verification
using context-aware masking" (arXiv:2303.00332).
"""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

FEATURES = 80
"""Mel bands the network takes."""

DIMENSION = 192
"""Length of an embedding."""

CONTEXT_FRAMES = 100
"""Frames, after the halving of the rate, of a neighbourhood of the context mask."""

GROWTH = 32
"""Channels that a dense layer adds."""

BLOCKS = ((12, 1), (24, 2), (16, 2))
"""Layers of a dense block and the dilation of their convolutions."""

_BOTTLENECK = 128


class NormRelu(nn.Module):
    """Batch normalisation, then ReLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.batchnorm = nn.BatchNorm1d(channels)


class ResidualBlock(nn.Module):
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


class ConvolutionHead(nn.Module):
    """Takes (mel, time) with one channel, gives (mel / 8, time) with 32."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(32)
        self.layer1 = nn.Sequential(ResidualBlock(32, 2), ResidualBlock(32, 1))
        self.layer2 = nn.Sequential(ResidualBlock(32, 2), ResidualBlock(32, 1))
        self.conv2 = nn.Conv2d(32, 32, 3, (2, 1), padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)


class ContextMask(nn.Module):
    """A convolution whose output is gated by the utterance and its neighbourhood."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.linear_local = nn.Conv1d(
            _BOTTLENECK, GROWTH, 3, padding=dilation, dilation=dilation, bias=False
        )
        self.linear1 = nn.Conv1d(_BOTTLENECK, _BOTTLENECK // 2, 1)
        self.linear2 = nn.Conv1d(_BOTTLENECK // 2, GROWTH, 1)


class DenseLayer(nn.Module):
    """Bottleneck and context mask."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.nonlinear1 = NormRelu(channels)
        self.linear1 = nn.Conv1d(channels, _BOTTLENECK, 1, bias=False)
        self.nonlinear2 = NormRelu(_BOTTLENECK)
        self.cam_layer = ContextMask(dilation)


class DenseBlock(nn.Module):
    """Layers that each see the outputs of all before them."""

    def __init__(self, num_layers: int, channels: int, dilation: int) -> None:
        super().__init__()
        for index in range(num_layers):
            layer = DenseLayer(channels + index * GROWTH, dilation)
            self.add_module(f"tdnnd{index + 1}", layer)


class Transit(nn.Module):
    """Halves the channels after a dense block."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.nonlinear = NormRelu(channels)
        self.linear = nn.Conv1d(channels, channels // 2, 1, bias=False)


class InputLayer(nn.Module):
    """Five-frame convolution that halves the frame rate."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Conv1d(channels, 128, 5, stride=2, padding=2, bias=False)
        self.nonlinear = NormRelu(128)


class OutputLayer(nn.Module):
    """Projection of mean and deviation to the embedding, normalised without scale."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.linear = nn.Conv1d(channels, DIMENSION, 1, bias=False)
        self.nonlinear = nn.Sequential(
            OrderedDict(batchnorm=nn.BatchNorm1d(DIMENSION, affine=False))
        )


class CamPlusPlus(nn.Module):
    """All parameters of the checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.head = ConvolutionHead()
        layers: OrderedDict[str, nn.Module] = OrderedDict(tdnn=InputLayer(32 * FEATURES // 8))
        channels = 128
        for index, (num_layers, dilation) in enumerate(BLOCKS, start=1):
            layers[f"block{index}"] = DenseBlock(num_layers, channels, dilation)
            channels += num_layers * GROWTH
            layers[f"transit{index}"] = Transit(channels)
            channels //= 2
        layers["out_nonlinear"] = NormRelu(channels)
        layers["dense"] = OutputLayer(2 * channels)
        self.xvector = nn.Sequential(layers)
