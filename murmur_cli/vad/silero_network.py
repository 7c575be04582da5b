"""The network of Silero VAD (16 kHz), run over a whole recording at once.

The package's own model takes one frame of 32 ms at a time and carries the state of its LSTM
along. Only the LSTM needs the order: here the convolutions run over all frames of a block
together, as matrix products, and the LSTM over their sequence. The probabilities are the same.
After `silero_vad/tinygrad_model.py` of the PyPI package silero-vad (MIT).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from murmur_cli.types import SampleSource

FRAME_SAMPLES = 512
CONTEXT_SAMPLES = 64
"""End of the frame before, which each frame sees in front of itself."""

REFLECTED_SAMPLES = 64
STFT_SAMPLES = 256
STFT_HOP_SAMPLES = 128
SPECTRUM_BINS = 129
STATE_SIZE = 128

BLOCK_FRAMES = 512
"""Frames worked on at once: their values fit the cache, and memory does not grow with length."""


class SileroNetwork:
    """Spectrum, four convolutions, LSTM, one output: probability of speech for each frame.

    weights: by name, float32, convolutions as (output, input, taps): `stft.weight`,
    `conv1` to `conv4` and `output` with `.weight` and `.bias`, `lstm.weight_ih_l0` and the
    other three of a `torch.nn.LSTM`.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._stft = weights["stft.weight"][:, 0].T.contiguous()
        self._conv1 = _Convolution(weights, "conv1", stride=1)
        self._conv2 = _Convolution(weights, "conv2", stride=2)
        self._conv3 = _Convolution(weights, "conv3", stride=2)
        self._conv4 = _Convolution(weights, "conv4", stride=1)
        self._lstm = nn.LSTM(STATE_SIZE, STATE_SIZE).eval()
        self._lstm.load_state_dict(
            {
                name.removeprefix("lstm."): tensor
                for name, tensor in weights.items()
                if name.startswith("lstm.")
            }
        )
        self._output = weights["output.weight"][0, :, 0]
        self._output_bias = weights["output.bias"]

    def probabilities(self, samples: SampleSource, gain: float = 1.0) -> npt.NDArray[np.float32]:
        """Probability of speech in each frame of 512 samples, shape (frames,).

        samples: (samples,) float32, 16 kHz, multiplied by `gain`. The last frame is filled up
        with zeros.
        """
        state = (torch.zeros(1, 1, STATE_SIZE), torch.zeros(1, 1, STATE_SIZE))
        parts: list[Tensor] = []
        with torch.inference_mode(), _one_thread():
            for frames in _frame_blocks(samples, gain):
                hidden, state = self._lstm(self._features(frames)[:, None, :], state)
                logits = hidden[:, 0, :].relu() @ self._output + self._output_bias
                parts.append(logits.sigmoid())
        if not parts:
            return np.zeros(0, dtype=np.float32)
        probabilities: npt.NDArray[np.float32] = torch.cat(parts).numpy()
        return probabilities

    def _features(self, frames: Tensor) -> Tensor:
        """(frames, context + frame samples) -> (frames, 128)."""
        padded = functional.pad(frames, (0, REFLECTED_SAMPLES), mode="reflect")
        spectrum = _project(padded.unfold(1, STFT_SAMPLES, STFT_HOP_SAMPLES), self._stft)
        real, imaginary = spectrum[..., :SPECTRUM_BINS], spectrum[..., SPECTRUM_BINS:]
        # (frames, steps of time, channels), with 4, 4, 2, 1 and 1 steps
        hidden = (real.square() + imaginary.square()).sqrt()
        hidden = self._conv4(self._conv3(self._conv2(self._conv1(hidden))))
        return hidden[:, 0, :]


class _Convolution:
    """Convolution of three taps over time, one zero on both sides, then ReLU.

    Written as one matrix product: for sequences of four steps that is twice as fast as the
    convolution of the library.
    """

    TAPS = 3

    def __init__(self, weights: Mapping[str, Tensor], name: str, *, stride: int) -> None:
        weight = weights[f"{name}.weight"]
        self._channels = weight.shape[1]
        self._stride = stride
        # rows: tap by tap, the channels of each; the order of unfolded time
        self._matrix = weight.permute(2, 1, 0).reshape(-1, weight.shape[0]).contiguous()
        self._bias = weights[f"{name}.bias"]

    def __call__(self, hidden: Tensor) -> Tensor:
        """(frames, steps, channels) -> (frames, steps at the stride, output channels)."""
        padded = functional.pad(hidden, (0, 0, 1, 1)).flatten(start_dim=1)
        taps = padded.unfold(1, self.TAPS * self._channels, self._stride * self._channels)
        return (_project(taps, self._matrix) + self._bias).relu()


def _project(rows: Tensor, matrix: Tensor) -> Tensor:
    """`rows @ matrix` over the last axis, as one product of two contiguous matrices."""
    return (rows.reshape(-1, rows.shape[-1]) @ matrix).view(*rows.shape[:-1], -1)


def _frame_blocks(samples: SampleSource, gain: float) -> Iterator[Tensor]:
    """Blocks of frames with their context, (frames, 576)."""
    block_samples = BLOCK_FRAMES * FRAME_SAMPLES
    for start in range(0, len(samples), block_samples):
        block = samples[max(0, start - CONTEXT_SAMPLES) : start + block_samples]
        before = 0 if start else CONTEXT_SAMPLES
        after = -(len(block) + before - CONTEXT_SAMPLES) % FRAME_SAMPLES
        padded = torch.from_numpy(np.pad(block, (before, after)) * np.float32(gain))
        yield padded.unfold(0, CONTEXT_SAMPLES + FRAME_SAMPLES, FRAME_SAMPLES)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch to one thread: the steps are so small that sharing them costs more than it
    gives, and on a busy machine each one waits for the slowest thread (measured: 20 times)."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
