"""The network of pyannote segmentation-3.0: SincNet, bidirectional LSTM, two linear layers.

The parameters of SincNet and the LSTM are here; `sinc_features` and `lstm` compute them.

Own implementation with the parameter names of the published checkpoint. Sources: M. Ravanelli,
Y. Bengio, "Speaker recognition from raw waveform with SincNet" (arXiv:1808.00158); M. Pariente
et al., "Filterbank design for end-to-end speech separation" (arXiv:1910.10400) for the
cosine/sine pairs; H. Bredin, "pyannote.audio 2.1 speaker diarization pipeline" (2023).
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from murmur_cli.timebase import SAMPLE_RATE_HZ

HOP_SAMPLES = 270
"""Distance of two output frames: stride 10, then three poolings by 3."""

RECEPTIVE_FIELD_SAMPLES = 991
"""Samples that one output frame sees."""

NUM_CLASSES = 7
"""Powerset classes of three speakers, at most two at once."""

_MIN_LOW_HZ = 50.0
_MIN_BAND_HZ = 50.0


class SincFilters(nn.Module):
    """Band-pass filters given by two frequencies each; cosine and sine phase."""

    def __init__(self, num_filters: int = 80, kernel_samples: int = 251) -> None:
        super().__init__()
        half = kernel_samples // 2
        self.low_hz_ = nn.Parameter(torch.zeros(num_filters // 2, 1))
        self.band_hz_ = nn.Parameter(torch.zeros(num_filters // 2, 1))
        self.register_buffer("window_", torch.zeros(half))
        self.register_buffer("n_", torch.zeros(1, half))

    def forward(self) -> Tensor:
        """Kernels, shape (filters, 1, kernel samples)."""
        window = self.get_buffer("window_")
        times = self.get_buffer("n_")
        low = _MIN_LOW_HZ + self.low_hz_.abs()
        high = (low + _MIN_BAND_HZ + self.band_hz_.abs()).clamp(_MIN_LOW_HZ, SAMPLE_RATE_HZ / 2)
        band = high - low
        low_phase, high_phase = low @ times, high @ times
        even = (high_phase.sin() - low_phase.sin()) / (times / 2) * window
        odd = (low_phase.cos() - high_phase.cos()) / (times / 2) * window
        cosine = torch.cat([even, 2 * band, even.flip(1)], dim=1)
        sine = torch.cat([odd, torch.zeros_like(band), -odd.flip(1)], dim=1)
        return (torch.cat([cosine, sine]) / (2 * band).repeat(2, 1)).unsqueeze(1)


class _SincLayer(nn.Module):
    """Names the filters as the checkpoint does."""

    def __init__(self) -> None:
        super().__init__()
        self.filterbank = SincFilters()


class SincNet(nn.Module):
    """Parameters of the layers that `sinc_features` runs."""

    def __init__(self) -> None:
        super().__init__()
        self.wav_norm1d = nn.InstanceNorm1d(1, affine=True)
        self.conv1d = nn.ModuleList([_SincLayer(), nn.Conv1d(80, 60, 5), nn.Conv1d(60, 60, 5)])
        self.norm1d = nn.ModuleList(nn.InstanceNorm1d(size, affine=True) for size in (80, 60, 60))


class PyanNet(nn.Module):
    """All parameters of the checkpoint; what follows the LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.sincnet = SincNet()
        self.lstm = nn.LSTM(60, 128, num_layers=4, bidirectional=True, batch_first=True)
        self.linear = nn.ModuleList([nn.Linear(256, 128), nn.Linear(128, 128)])
        self.classifier = nn.Linear(128, NUM_CLASSES)

    def forward(self, hidden: Tensor) -> Tensor:
        """(batch, frames, 256) of the LSTM to log-probabilities (batch, frames, classes)."""
        for layer in self.linear:
            hidden = F.leaky_relu_(layer(hidden))
        return F.log_softmax(self.classifier(hidden), dim=-1)


def num_frames(num_samples: int) -> int:
    """Output frames for a waveform; 0 if it is shorter than the receptive field."""
    return max(0, math.floor((num_samples - RECEPTIVE_FIELD_SAMPLES) / HOP_SAMPLES) + 1)
