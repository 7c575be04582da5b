"""The network of Silero VAD (16 kHz), run over a whole recording at once.

The package's own model takes one frame of 32 ms at a time and carries the state of its LSTM
along. Only the LSTM needs the order: here the convolutions run over all frames of a block
together and the LSTM over their sequence, which gives the same probabilities many times faster.
After `silero_vad/tinygrad_model.py` of the PyPI package silero-vad (MIT).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from murmur_cli.types import Samples

FRAME_SAMPLES = 512
CONTEXT_SAMPLES = 64
"""End of the frame before, which each frame sees in front of itself."""

REFLECTED_SAMPLES = 64
STFT_HOP_SAMPLES = 128
SPECTRUM_BINS = 129
STATE_SIZE = 128

BLOCK_FRAMES = 4096
"""Frames worked on at once: bounds memory at some 40 MB, whatever the length."""


class SileroNetwork(nn.Module):
    """Spectrum, four convolutions, LSTM, one output: probability of speech for each frame."""

    def __init__(self) -> None:
        super().__init__()
        self.stft_conv = nn.Conv1d(1, 2 * SPECTRUM_BINS, 256, stride=STFT_HOP_SAMPLES, bias=False)
        self.conv1 = nn.Conv1d(SPECTRUM_BINS, 128, 3, padding=1)
        self.conv2 = nn.Conv1d(128, 64, 3, stride=2, padding=1)
        self.conv3 = nn.Conv1d(64, 64, 3, stride=2, padding=1)
        self.conv4 = nn.Conv1d(64, 128, 3, padding=1)
        self.lstm = nn.LSTM(128, STATE_SIZE)
        self.final_conv = nn.Conv1d(STATE_SIZE, 1, 1)

    @classmethod
    def from_weights(cls, weights: Mapping[str, Tensor]) -> SileroNetwork:
        """Network with the given weights, ready to run.

        Raises:
            RuntimeError: tensors are missing, unknown or of another shape.
        """
        network = cls()
        network.load_state_dict(weights)
        return network.eval()

    def probabilities(self, samples: Samples, gain: float = 1.0) -> npt.NDArray[np.float32]:
        """Probability of speech in each frame of 512 samples, shape (frames,).

        The last frame is filled up with zeros. `gain` multiplies the samples.
        """
        state = (torch.zeros(1, 1, STATE_SIZE), torch.zeros(1, 1, STATE_SIZE))
        parts: list[Tensor] = []
        with torch.inference_mode():
            for frames in _frame_blocks(samples, gain):
                features = self._features(frames)
                output, state = self.lstm(features[:, None, :], state)
                logits = self.final_conv(output[:, 0, :, None].relu())
                parts.append(logits.sigmoid().reshape(-1))
        if not parts:
            return np.zeros(0, dtype=np.float32)
        probabilities: npt.NDArray[np.float32] = torch.cat(parts).numpy()
        return probabilities

    def _features(self, frames: Tensor) -> Tensor:
        """(frames, context + frame samples) -> (frames, 128)."""
        padded = functional.pad(frames, (0, REFLECTED_SAMPLES), mode="reflect")
        spectrum = self.stft_conv(padded[:, None, :])
        real, imaginary = spectrum[:, :SPECTRUM_BINS], spectrum[:, SPECTRUM_BINS:]
        hidden = (real.square() + imaginary.square()).sqrt()
        for layer in (self.conv1, self.conv2, self.conv3, self.conv4):
            hidden = layer(hidden).relu()
        features: Tensor = hidden[:, :, 0]
        return features


def _frame_blocks(samples: Samples, gain: float) -> Iterator[Tensor]:
    """Blocks of frames with their context, (frames, 576)."""
    block_samples = BLOCK_FRAMES * FRAME_SAMPLES
    for start in range(0, len(samples), block_samples):
        block = samples[max(0, start - CONTEXT_SAMPLES) : start + block_samples]
        before = 0 if start else CONTEXT_SAMPLES
        after = -(len(block) + before - CONTEXT_SAMPLES) % FRAME_SAMPLES
        padded = torch.from_numpy(np.pad(block, (before, after)) * np.float32(gain))
        yield padded.unfold(0, CONTEXT_SAMPLES + FRAME_SAMPLES, FRAME_SAMPLES)
