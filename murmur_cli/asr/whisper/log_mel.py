"""Whisper's input: log-mel spectrogram of 30 s.

Same values as transformers' WhisperFeatureExtractor (Whisper, arXiv:2212.04356, section 2.2),
computed in torch: 25 ms Hann windows, 10 ms hop, log10 clipped 8 below the maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from transformers.audio_utils import mel_filter_bank

from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Samples

FFT_SAMPLES = 400
HOP_SAMPLES = 160


@dataclass(frozen=True, slots=True)
class LogMel:
    """Extractor for one number of mel bins and one window length.

    Attributes:
        mel_bins: 80, or 128 for large-v3.
        window_samples: samples that the encoder takes; shorter audio is padded with zeros.
    """

    mel_bins: int
    window_samples: int

    def __call__(self, audio: Samples) -> torch.Tensor:
        """Features of shape (mel_bins, window_samples / 160), float32."""
        assert len(audio) <= self.window_samples, (len(audio), self.window_samples)
        padded = np.zeros(self.window_samples, dtype=np.float32)
        padded[: len(audio)] = audio
        spectrum = torch.stft(
            torch.from_numpy(padded),
            FFT_SAMPLES,
            HOP_SAMPLES,
            window=torch.hann_window(FFT_SAMPLES),
            return_complex=True,
        )
        # numpy takes a fifth of the time of torch for the absolute of complex numbers
        power = torch.from_numpy(np.square(np.abs(spectrum[:, :-1].numpy())))
        logs = (self._filters() @ power).clamp_(min=1e-10).log10_()
        return logs.clamp_(min=logs.max() - 8.0).add_(4.0).div_(4.0)

    def _filters(self) -> torch.Tensor:
        """(mel_bins, frequencies); a few hundred microseconds, so not kept."""
        bank = mel_filter_bank(
            num_frequency_bins=FFT_SAMPLES // 2 + 1,
            num_mel_filters=self.mel_bins,
            min_frequency=0.0,
            max_frequency=8000.0,
            sampling_rate=SAMPLE_RATE_HZ,
            norm="slaney",
            mel_scale="slaney",
        )
        return torch.from_numpy(bank.T.astype(np.float32))
