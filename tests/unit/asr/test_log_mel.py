from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from transformers import WhisperFeatureExtractor

from murmur_cli.asr.whisper.log_mel import LogMel


@pytest.mark.parametrize("bins", [80, 128])
def test_log_mel_when_on_real_speech_then_equals_transformers(sample_wav: Path, bins: int) -> None:
    samples, _ = soundfile.read(sample_wav, dtype="float32")
    samples = samples[100_000:333_333]  # shorter than the window: the rest is padding
    extractor = WhisperFeatureExtractor(feature_size=bins)
    wanted = extractor(samples, sampling_rate=16_000, return_tensors="np").input_features[0]
    found = LogMel(bins, 480_000)(samples).numpy()
    assert found.shape == wanted.shape == (bins, 3000)
    assert np.abs(found - wanted).max() <= 1e-4


def test_log_mel_when_silent_then_finite_and_flat() -> None:
    found = LogMel(80, 32_000)(np.zeros(1000, np.float32))
    # log10 of the floor 1e-10 is the maximum too: (-10 + 4) / 4
    assert np.allclose(found.numpy(), -1.5)
    assert found.shape == (80, 200)
