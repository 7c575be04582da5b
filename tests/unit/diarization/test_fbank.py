import warnings

import numpy as np
import pytest
import soundfile

from murmur_cli.diarization.fbank import log_mel


def _kaldi(samples: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchaudio's own, at import
        import torch
        from torchaudio.compliance import kaldi

    return kaldi.fbank(
        torch.from_numpy(samples)[None], num_mel_bins=80, dither=0.0, sample_frequency=16_000
    ).numpy()


def test_log_mel_when_real_speech_then_equal_to_kaldi(sample_wav) -> None:
    samples, _ = soundfile.read(sample_wav, dtype="float32", frames=160_000, start=100_000)
    found = log_mel(samples).numpy()
    assert found.shape == (998, 80)
    np.testing.assert_allclose(found, _kaldi(samples), atol=1e-3)


def test_log_mel_when_longer_than_a_block_then_no_seam(sample_wav) -> None:
    samples, _ = soundfile.read(sample_wav, dtype="float32")
    twice = np.concatenate([samples, samples])
    found = log_mel(twice).numpy()
    np.testing.assert_allclose(found[2990:3010], _kaldi(twice)[2990:3010], atol=1e-3)


@pytest.mark.parametrize(("length", "frames"), [(0, 0), (399, 0), (400, 1), (559, 1), (560, 2)])
def test_log_mel_when_short_then_only_whole_windows(length: int, frames: int) -> None:
    assert log_mel(np.zeros(length, dtype=np.float32)).shape == (frames, 80)


def test_log_mel_when_silence_then_floor() -> None:
    found = log_mel(np.zeros(400, dtype=np.float32)).numpy()
    np.testing.assert_allclose(found, np.log(np.finfo(np.float32).eps), rtol=1e-6)
