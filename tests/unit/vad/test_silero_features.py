"""The features against the network's definition: the package's layers, in float64."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from murmur_cli.errors import ModelError
from murmur_cli.vad.silero_features import SileroFeatures
from murmur_cli.vad.silero_weights import read_silero_weights


@pytest.fixture(scope="module")
def weights() -> dict[str, torch.Tensor]:
    return read_silero_weights()


def features_by_convolutions(weights: dict[str, torch.Tensor], frames: np.ndarray) -> torch.Tensor:
    """Frames of 576 samples -> (frames, 128): torch's convolutions on reflected frames."""
    exact = {name: tensor.double() for name, tensor in weights.items()}
    padded = functional.pad(torch.from_numpy(frames).double()[:, None], (0, 64), mode="reflect")
    spectrum = functional.conv1d(padded, exact["stft.weight"], stride=128)
    hidden = (spectrum[:, :129] ** 2 + spectrum[:, 129:] ** 2).sqrt()
    for name, stride in (("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)):
        kernel, bias = exact[f"{name}.weight"], exact[f"{name}.bias"]
        hidden = functional.conv1d(hidden, kernel, bias, stride=stride, padding=1).relu()
    return hidden[:, :, 0]


def test_features_when_compared_with_convolutions_in_float64_then_same(
    weights: dict[str, torch.Tensor],
) -> None:
    signal = np.random.default_rng(0).standard_normal(64 + 5 * 512).astype(np.float32) * 0.1
    frames = np.stack([signal[512 * index : 512 * index + 576] for index in range(5)])
    found = SileroFeatures(weights)(torch.from_numpy(signal)).double()
    wanted = features_by_convolutions(weights, frames)
    assert found.shape == wanted.shape == (5, 128)
    assert (found - wanted).abs().max() <= 1e-5 * wanted.abs().max()


@pytest.mark.parametrize("shape", [(258, 256), (258, 128)])
def test_features_when_the_spectrum_is_no_fourier_transform_then_model_error(
    weights: dict[str, torch.Tensor], shape: tuple[int, int]
) -> None:
    other = weights | {"stft.weight": torch.ones(shape)[:, None]}
    with pytest.raises(ModelError, match="silero-vad>=6,<7"):
        SileroFeatures(other)
