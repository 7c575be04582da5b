"""Log-mel filterbank features as Kaldi computes them, for a whole signal at once.

80 bands from 20 Hz to Nyquist, 25 ms povey windows each 10 ms, DC removed per window,
pre-emphasis 0.97, no dither, power spectrum, natural logarithm; windows lie inside the signal
(snip_edges). Equal to `torchaudio.compliance.kaldi.fbank` with those options.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.on_cores import on_cores
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Samples

if TYPE_CHECKING:
    from torch import Tensor

HOP_SAMPLES = 160
WINDOW_SAMPLES = 400
NUM_BANDS = 80

_FFT_SAMPLES = 512
_PREEMPHASIS = 0.97
_LOW_HZ = 20.0
_FLOOR = float(np.finfo(np.float32).eps)
_BLOCK_FRAMES = 3000


def log_mel(samples: Samples) -> Tensor:
    """Features of a signal, shape (frames, 80), float32; no frame if it is under 25 ms.

    Works in blocks of 30 s, so the memory beside the result does not grow with the signal.
    """
    import torch

    if samples.shape[0] < WINDOW_SAMPLES:
        return torch.zeros(0, NUM_BANDS)
    signal = torch.from_numpy(np.ascontiguousarray(samples, dtype=np.float32))
    windows = signal.unfold(0, WINDOW_SAMPLES, HOP_SAMPLES)
    return torch.cat(on_cores(_block, torch.split(windows, _BLOCK_FRAMES)))


def _block(windows: Tensor) -> Tensor:
    """(frames, 400 samples) to (frames, 80)."""
    import torch

    centred = windows - windows.mean(dim=1, keepdim=True)
    # Kaldi's first sample of a window has itself as predecessor.
    before = torch.cat([centred[:, :1], centred[:, :-1]], dim=1)
    shaped = (centred - _PREEMPHASIS * before) * torch.from_numpy(_povey_window())
    power: Tensor = torch.fft.rfft(shaped, n=_FFT_SAMPLES).abs().square()
    mel = power @ torch.from_numpy(_mel_weights())
    features: Tensor = mel.clamp(min=_FLOOR).log()
    return features


@lru_cache(maxsize=1)
def _povey_window() -> npt.NDArray[np.float32]:
    """A Hann window to the power 0.85, which Kaldi calls povey."""
    return (np.hanning(WINDOW_SAMPLES) ** 0.85).astype(np.float32)


@lru_cache(maxsize=1)
def _mel_weights() -> npt.NDArray[np.float32]:
    """Triangles of equal width in mel, shape (257 bins, 80 bands)."""
    edges = np.linspace(_mel(_LOW_HZ), _mel(SAMPLE_RATE_HZ / 2), NUM_BANDS + 2)
    bins = _mel(np.arange(_FFT_SAMPLES // 2 + 1) * SAMPLE_RATE_HZ / _FFT_SAMPLES)[:, None]
    rising = (bins - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - bins) / (edges[2:] - edges[1:-1])
    weights = np.maximum(0.0, np.minimum(rising, falling))
    weights[-1] = 0.0  # Kaldi leaves the Nyquist bin out
    return weights.astype(np.float32)


def _mel(frequency_hz: npt.ArrayLike) -> npt.NDArray[np.float64]:
    return 1127.0 * np.log1p(np.asarray(frequency_hz, dtype=np.float64) / 700.0)
