"""The network of Silero VAD (16 kHz), run over a whole recording at once.

The package's own model takes one frame of 32 ms at a time and carries the state of its LSTM
along. Only the LSTM needs the order: here everything before it takes the frames of a block
together, and the LSTM their sequence. The probabilities are the same.
After `silero_vad/tinygrad_model.py` of the PyPI package silero-vad (MIT).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from murmur_cli.types import SampleSource
from murmur_cli.vad.silero_features import CONTEXT_SAMPLES, FRAME_SAMPLES, SileroFeatures

STATE_SIZE = 128

BLOCK_FRAMES = 512
"""Frames worked on at once: large enough for fast products, and memory does not grow with
length."""


class SileroNetwork:
    """Spectrum, four convolutions, LSTM, one output: probability of speech for each frame.

    weights: by name, float32, convolutions as (output, input, taps): `stft.weight`,
    `conv1` to `conv4` and `output` with `.weight` and `.bias`, `lstm.weight_ih_l0` and the
    other three of a `torch.nn.LSTM`.

    Raises:
        ModelError: the weights are those of another network.
    """

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        self._features = SileroFeatures(weights)
        # The default format is the process's, and another while a model of that format loads.
        self._lstm = nn.LSTM(STATE_SIZE, STATE_SIZE, dtype=torch.float32).eval()
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
        zeros = torch.zeros(1, 1, STATE_SIZE, dtype=torch.float32)
        state = (zeros, zeros)
        # Made once: a small result kept after each block keeps the large ones before it from
        # joining, and memory grows by 30 MB an hour.
        probabilities = np.empty(-(-len(samples) // FRAME_SAMPLES), dtype=np.float32)
        first = 0
        with torch.inference_mode(), _one_thread():
            for signal in _signal_blocks(samples, gain):
                hidden, state = self._lstm(self._features(signal)[:, None, :], state)
                logits = hidden[:, 0, :].relu() @ self._output + self._output_bias
                probabilities[first : first + len(logits)] = logits.sigmoid().numpy()
                first += len(logits)
        return probabilities


def _signal_blocks(samples: SampleSource, gain: float) -> Iterator[Tensor]:
    """Whole frames in blocks, and the context of the first of each: (64 + frames * 512,)."""
    block_samples = BLOCK_FRAMES * FRAME_SAMPLES
    for start in range(0, len(samples), block_samples):
        block = samples[max(0, start - CONTEXT_SAMPLES) : start + block_samples]
        before = 0 if start else CONTEXT_SAMPLES
        after = -(len(block) + before - CONTEXT_SAMPLES) % FRAME_SAMPLES
        yield torch.from_numpy(np.pad(block, (before, after)) * np.float32(gain))


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
