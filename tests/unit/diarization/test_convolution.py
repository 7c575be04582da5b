"""The head's convolution as it runs against torch's in float64."""

import pytest
import torch
import torch.nn.functional as F

from murmur_cli.diarization import convolution
from murmur_cli.diarization.convolution import ReluConvolution
from murmur_cli.diarization.folding import Affine
from murmur_cli.diarization.winograd import INPUT, OUTPUT, TAPS


def _affine() -> Affine:
    torch.manual_seed(0)
    return Affine(torch.randn(32, 32, 3, 3) / 17, torch.randn(32))


def _image(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).contiguous(memory_format=torch.channels_last)


def _exact(affine: Affine, step: int, image: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
    found = F.conv2d(
        image.double(), affine.weight.double(), affine.bias.double(), (1, step), padding=1
    )
    return (found + added).relu()


def test_winograd_when_matrices_are_multiplied_out_then_a_convolution() -> None:
    inputs, taps, outputs = (
        torch.tensor(matrix, dtype=torch.float64) for matrix in (INPUT, TAPS, OUTPUT)
    )
    # As a bilinear map: output i takes input i + k with tap k, and nothing else.
    found = torch.einsum("ip,pt,pd->itd", outputs, taps, inputs)
    expected = torch.zeros(4, 3, 6, dtype=torch.float64)
    for output in range(4):
        for tap in range(3):
            expected[output, tap, output + tap] = 1.0
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5, 11])
@pytest.mark.parametrize("bands", [10, 13])
def test_convolution_when_any_length_then_equal_to_torch_in_float64(
    step: int, frames: int, bands: int
) -> None:
    affine, image = _affine(), _image(2, 32, frames, bands)
    found = ReluConvolution(affine, step)(image)
    exact = _exact(affine, step, image, torch.zeros(()))
    assert found.shape == exact.shape
    torch.testing.assert_close(found.double(), exact, atol=3e-5, rtol=0)


def test_convolution_when_something_is_added_then_before_the_relu() -> None:
    affine, image, added = _affine(), _image(3, 32, 9, 8), _image(3, 32, 9, 8)
    before = added.clone()
    found = ReluConvolution(affine, 1)(image, added)
    torch.testing.assert_close(
        found.double(), _exact(affine, 1, image, before.double()), atol=3e-5, rtol=0
    )


def test_convolution_when_an_image_is_alone_then_bits_are_those_in_a_batch() -> None:
    if convolution.convolution_machine_code() is None:
        pytest.skip("torch's own sums depend on the batch")
    layer, image = ReluConvolution(_affine(), 2), _image(3, 32, 7, 10)
    together = layer(image)
    for row in range(3):
        assert torch.equal(layer(image[row : row + 1]), together[row : row + 1])


def test_convolution_when_no_machine_code_then_torch_computes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(convolution, "convolution_machine_code", lambda: None)
    affine, image, added = _affine(), _image(2, 32, 5, 8), _image(2, 32, 5, 8)
    exact = _exact(affine, 1, image, added.double())
    found = ReluConvolution(affine, 1)(image, added)
    torch.testing.assert_close(found.double(), exact, atol=1e-5, rtol=0)
