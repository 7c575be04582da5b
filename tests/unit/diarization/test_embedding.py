from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.diarization.embedding import Embedder, unit_length
from murmur_cli.diarization.fbank import log_mel
from murmur_cli.models.weights import packaged_file


def test_unit_length_when_vector_is_usable_then_scaled() -> None:
    found = unit_length(np.array([3.0, 4.0], dtype=np.float32))
    assert found is not None
    assert found.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_unit_length_when_zero_or_not_finite_then_none(value: float) -> None:
    assert unit_length(np.array([value, 0.0], dtype=np.float32)) is None


@pytest.mark.embedded
def test_embed_when_same_speaker_then_nearer_than_the_other(sample_wav: Path) -> None:
    samples, _ = soundfile.read(sample_wav, dtype="float32")
    # From sample.rttm: speaker90 11-14 s and 18.7-21.3 s, speaker91 22-24.5 s.
    stretches = [_frames(11.0, 14.0), _frames(18.7, 21.3), _frames(22.0, 24.5)]
    first, same, other = Embedder(packaged_file("campplus").path).embed(log_mel(samples), stretches)
    assert first is not None
    assert same is not None
    assert other is not None
    assert float(np.linalg.norm(first)) == pytest.approx(1.0, abs=1e-5)
    assert first @ same > 0.5 > 0.4 > first @ other


@pytest.mark.embedded
def test_embed_when_batched_then_equal_to_one_by_one(sample_wav: Path) -> None:
    samples, _ = soundfile.read(sample_wav, dtype="float32")
    stretches = [_frames(start, start + 1.7) for start in (11.0, 15.0, 19.0)]
    embedder = Embedder(packaged_file("campplus").path)
    together = embedder.embed(log_mel(samples), stretches)
    for stretch, vector in zip(stretches, together, strict=True):
        (alone,) = embedder.embed(log_mel(samples), [stretch])
        np.testing.assert_allclose(vector, alone, atol=1e-5)


@pytest.mark.embedded
def test_embed_when_stretch_is_too_short_then_none(sample_wav: Path) -> None:
    samples, _ = soundfile.read(sample_wav, dtype="float32", frames=16_000)
    embedder = Embedder(packaged_file("campplus").path)
    assert embedder.embed(log_mel(samples), [_frames(0.1, 0.3), np.array([], dtype=np.int64)]) == [
        None,
        None,
    ]
    assert embedder.embed(log_mel(samples[:100]), [np.array([0])]) == [None]
    assert embedder.embed(log_mel(samples), []) == []


def _frames(start_s: float, end_s: float) -> np.ndarray:
    return np.arange(int(start_s * 16_000 / 270), int(end_s * 16_000 / 270))
