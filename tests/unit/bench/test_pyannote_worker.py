"""pyannote.audio's pipeline on the packaged weights, and CAM++ as its embedding."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from murmur_cli.diarization.embedding import Embedder
from murmur_cli.diarization.fbank import log_mel
from murmur_cli.models.weights import packaged_file

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of lightning, at import
    from murmur_cli.bench.pyannote_worker import MIN_FRAMES, CamPlusPlusModel, PyannoteWorker

pytestmark = [pytest.mark.embedded, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def signal(sample_wav: Path) -> torch.Tensor:
    samples, _ = soundfile.read(sample_wav, dtype="float32")
    return torch.from_numpy(samples[7 * 16_000 : 17 * 16_000])


def test_embedding_when_frames_are_weighted_then_that_of_the_weighted_ones(
    signal: torch.Tensor,
) -> None:
    model = CamPlusPlusModel()
    weights = torch.zeros(2, 1000)
    weights[0, 300:500] = 1.0
    found = model(signal.repeat(2, 1, 1), weights).numpy()
    # Of 998 features of 10 ms, those under the weights: 2 s, the most that our embedder takes.
    features = log_mel(signal.numpy())[300:500]
    frames = np.arange(len(features) * 160 // 270 + 2)
    (expected,) = Embedder(packaged_file("campplus").path).embed(features, [frames])
    assert expected is not None
    assert float(found[0] @ expected) / np.linalg.norm(found[0]) > 0.99
    assert np.isnan(found[1]).all()


def test_embedding_when_a_signal_is_short_then_refused_so_that_a_minimum_is_found() -> None:
    model = CamPlusPlusModel()
    shortest = 400 + (MIN_FRAMES - 1) * 160
    assert model(torch.randn(1, 1, shortest)).shape == (1, 192)
    with pytest.raises(ValueError, match="short"):
        model(torch.randn(1, 1, shortest - 1))


def test_worker_when_two_people_talk_then_turns_of_two_and_no_words(
    signal: torch.Tensor, tmp_path: Path
) -> None:
    talk = tmp_path / "talk.wav"
    soundfile.write(talk, signal.numpy(), 16_000)
    worker = PyannoteWorker()
    opened = worker.open({"options": {}})
    assert opened["versions"]["pyannote.audio"].startswith("4.")
    (result,) = worker.run({"audio": [str(talk)]})["results"]
    assert result["words"] is None
    assert result["speakers_s"] > 0.0
    assert all(0.0 <= start < end <= 10.1 for start, end, _ in result["turns"])
    assert len({speaker for _, _, speaker in result["turns"]}) >= 2
