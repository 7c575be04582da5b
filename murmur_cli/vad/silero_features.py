"""The part of Silero VAD (16 kHz) that looks at one frame at a time: spectrum, four convolutions.

Frames do not depend on each other here, so those of a block are worked on together. The spectrum
is a Fourier transform, and each convolution a matrix product per step of time on columns of what
the layer before wrote: no frame is unfolded, and the zeros around a frame are not multiplied.
After `silero_vad/tinygrad_model.py` of the PyPI package silero-vad (MIT).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from murmur_cli.errors import ModelError

FRAME_SAMPLES = 512
CONTEXT_SAMPLES = 64
"""End of the frame before, which each frame sees in front of itself."""

REFLECTED_SAMPLES = 64
"""Behind its end a frame is continued by its mirror image."""

STFT_SAMPLES = 256
STFT_HOP_SAMPLES = 128
STFT_STEPS = 4
SPECTRUM_BINS = 129

BASIS_TOLERANCE = 1e-6
"""The package stores the transform rounded to float32: 6e-8 from the exact one."""


class SileroFeatures:
    """What the LSTM hears of each frame.

    weights: by name, float32, as (output, input, taps): `stft.weight`, and `conv1` to `conv4`
    with `.weight` and `.bias`.

    Raises:
        ModelError: the weights of the spectrum are no windowed Fourier transform.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._window = _fourier_window(weights["stft.weight"][:, 0])
        self._convolutions = (
            _Convolution(weights, "conv1", steps=STFT_STEPS, stride=1),
            _Convolution(weights, "conv2", steps=4, stride=2),
            _Convolution(weights, "conv3", steps=2, stride=2),
            _Convolution(weights, "conv4", steps=1, stride=1),
        )

    def __call__(self, signal: Tensor) -> Tensor:
        """(context + frames * frame samples,) -> (frames, 128)."""
        spectrum = torch.fft.rfft(self._windows(signal))
        # numpy's absolute of complex numbers takes a seventh of the time of torch's
        hidden = torch.from_numpy(np.abs(spectrum.numpy())).flatten(start_dim=1)
        for convolution in self._convolutions:
            hidden = convolution(hidden)
        return hidden

    def _windows(self, signal: Tensor) -> Tensor:
        """What the transforms of each frame take, (frames, steps, samples)."""
        frames = signal.unfold(0, CONTEXT_SAMPLES + FRAME_SAMPLES, FRAME_SAMPLES)
        # The default format is the process's, and another while a model of that format loads.
        windows = torch.empty(len(frames), STFT_STEPS, STFT_SAMPLES, dtype=frames.dtype)
        torch.mul(
            frames.unfold(1, STFT_SAMPLES, STFT_HOP_SAMPLES), self._window, out=windows[:, :-1]
        )
        heard = STFT_SAMPLES - REFLECTED_SAMPLES
        mirrored = frames[:, -1 - REFLECTED_SAMPLES : -1].flip(1)
        torch.mul(frames[:, -heard:], self._window[:heard], out=windows[:, -1, :heard])
        torch.mul(mirrored, self._window[heard:], out=windows[:, -1, heard:])
        return windows


class _Convolution:
    """Convolution of three taps over time, one zero on both sides, then ReLU.

    steps: of its input. A step of time is a run of columns, and so are neighbouring steps.
    """

    def __init__(
        self, weights: Mapping[str, Tensor], name: str, *, steps: int, stride: int
    ) -> None:
        weight = weights[f"{name}.weight"]
        outputs, channels, _ = weight.shape
        taps = weight.permute(2, 1, 0).contiguous()
        self._bias = weights[f"{name}.bias"]
        self._products: list[tuple[slice, Tensor]] = []
        for centre in range(0, steps, stride):
            first, end = max(0, centre - 1), min(steps, centre + 2)
            columns = slice(first * channels, end * channels)
            matrix = taps[first - centre + 1 : end - centre + 1].view(-1, outputs)
            self._products.append((columns, matrix))

    def __call__(self, hidden: Tensor) -> Tensor:
        """(frames, steps * channels) -> (frames, steps at the stride * output channels)."""
        products = [
            torch.addmm(self._bias, hidden[:, columns], matrix)
            for columns, matrix in self._products
        ]
        return torch.cat(products, dim=1).relu_()


def _fourier_window(basis: Tensor) -> Tensor:
    """The window in `basis`, (2 * bins, samples): cosines, then negative sines, times a window.

    Raises:
        ModelError: it is something else.
    """
    turns = torch.outer(torch.arange(SPECTRUM_BINS), torch.arange(STFT_SAMPLES))
    angles = turns.double() * (2 * math.pi / STFT_SAMPLES)
    waves = torch.cat([angles.cos(), -angles.sin()])
    # the cosine of the first bin is 1, so its row is the window
    if basis.shape != waves.shape or (waves * basis[0] - basis).abs().max() > BASIS_TOLERANCE:
        raise ModelError(
            "stft.weight of Silero VAD is not the Fourier transform of 256 samples that release 6"
            " has; install that release: pip install 'silero-vad>=6,<7'"
        )
    return basis[0].contiguous()
