"""SincNet over overlapping windows: what they share is computed once.

The published network normalises each window's waveform, filters it (80 filters of 251 samples,
stride 10), takes absolute values and the largest of three. Filtering is linear, so the filters
run over the plain signal once for all windows over it, and the normalisation is applied to their
outputs. Of three outputs y only the extremes matter: with x -> s x + c, s and c constant in a
window, max |s y + c| is |s y + c| at the largest or the smallest y.

Half of the filters are even about their middle and half are odd, so the two halves of a window
are added or subtracted first, which saves half of the products. Equal to the published network
up to rounding.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from murmur_cli.diarization.pyannet import HOP_SAMPLES, SincNet

STRIDE_SAMPLES = 10
POOL = 3

EXTREMES_PER_HOP = HOP_SAMPLES // (STRIDE_SAMPLES * POOL)
"""Pooled filter outputs from one output frame to the next."""

_BLOCK_OUTPUTS = 532 * POOL
"""Filter outputs computed together: their inputs stay in the cache."""


class SincFeatures:
    """60 features each 270 samples."""

    def __init__(self, network: SincNet) -> None:
        """Take the parameters of a loaded network."""
        layers: Any = list(network.conv1d)
        filters = layers[0].filterbank().squeeze(1)
        self._kernel_samples: int = filters.shape[1]
        self._middle = self._kernel_samples // 2
        even, odd = filters.chunk(2)
        self._even = even[:, self._middle :].t().contiguous()
        self._odd = odd[:, self._middle + 1 :].t().contiguous()
        self._sums = filters.sum(dim=1)
        self._wave_norm = network.wav_norm1d
        self._norms = list(network.norm1d)
        self._convolutions = [
            (
                layer.weight.unsqueeze(2).contiguous(memory_format=torch.channels_last),
                layer.bias,
            )
            for layer in layers[1:]
        ]

    def num_extremes(self, num_samples: int) -> int:
        """Pooled filter outputs of a signal."""
        return ((num_samples - self._kernel_samples) // STRIDE_SAMPLES + 1) // POOL

    def extremes(self, signal: Tensor) -> Tensor:
        """Largest and smallest of each three filter outputs: (2, outputs / 3, 80).

        Args:
            signal: (samples,), at least 271.
        """
        pooled = self.num_extremes(signal.shape[0])
        found = signal.new_empty(2, pooled, self._sums.shape[0])
        inputs = signal.unfold(0, self._kernel_samples, STRIDE_SAMPLES)[: pooled * POOL]
        rows = torch.split(inputs, _BLOCK_OUTPUTS)
        for block, out in zip(rows, torch.split(found, _BLOCK_OUTPUTS // POOL, 1), strict=True):
            self._filter(block, out)
        return found

    def _filter(self, inputs: Tensor, out: Tensor) -> None:
        after, before = inputs[:, self._middle + 1 :], inputs[:, : self._middle].flip(1)
        sums = inputs.new_empty(inputs.shape[0], self._middle + 1)
        sums[:, 0] = inputs[:, self._middle]
        torch.add(after, before, out=sums[:, 1:])
        differences = torch.sub(after, before, out=before)
        num_even = self._even.shape[1]
        _pool(sums @ self._even, out[..., :num_even])
        _pool(differences @ self._odd, out[..., num_even:])

    def features(self, extremes: Tensor, window: Tensor) -> Tensor:
        """(frames, 60) of one window.

        Args:
            extremes: the window's part of `extremes`.
            window: (samples,) its waveform.
        """
        scale, shift = _instance_norm(window, self._wave_norm)
        shift = shift * self._sums
        largest, smallest = (torch.addcmul(shift, side, scale).abs_() for side in extremes)
        hidden = _normalised(torch.maximum(largest, smallest), self._norms[0])
        for (kernel, bias), norm in zip(self._convolutions, self._norms[1:], strict=True):
            image = hidden.t()[None, :, None]  # (1, channels, 1, frames), channels last
            convolved = F.conv2d(image, kernel, bias)[0, :, 0].t()
            frames = convolved.shape[0] - convolved.shape[0] % POOL
            pooled = convolved[:frames].reshape(-1, POOL, convolved.shape[1]).amax(1)
            hidden = _normalised(pooled, norm)
        return hidden


def _pool(filtered: Tensor, out: Tensor) -> None:
    """Largest and smallest of each three rows into out[0] and out[1]."""
    first, second, third = (filtered[start::POOL] for start in range(POOL))
    torch.maximum(torch.maximum(first, second), third, out=out[0])
    torch.minimum(torch.minimum(first, second), third, out=out[1])


def _normalised(features: Tensor, norm: nn.Module) -> Tensor:
    """Instance norm over frames, then leaky ReLU: (frames, channels)."""
    scale, shift = _instance_norm(features, norm)
    return F.leaky_relu_(torch.addcmul(shift, features, scale))


def _instance_norm(values: Tensor, norm: Any) -> tuple[Tensor, Tensor]:
    """Scale and shift that normalise `values` over their first axis."""
    # Two passes by hand: ten times faster than torch.var_mean, which is not vectorised here.
    mean = values.mean(dim=0)
    variance = (values - mean).square_().mean(dim=0)
    scale = norm.weight * torch.rsqrt(variance + norm.eps)
    return scale, norm.bias - mean * scale
