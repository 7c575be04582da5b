"""Folded forms against torch's own layers in float64."""

import pytest
import torch
from torch import nn

from murmur_cli.diarization.folding import hinge_before, norm_after


@pytest.fixture
def norm() -> nn.BatchNorm1d:
    """Four channels: positive, negative and no scale (shift above and below zero)."""
    layer = nn.BatchNorm1d(4).double().eval()
    layer.weight.data = torch.tensor([1.5, -0.7, 0.0, 0.0], dtype=torch.float64)
    layer.bias.data = torch.tensor([-0.2, 0.4, 0.3, -0.3], dtype=torch.float64)
    layer.running_mean = torch.tensor([0.1, -0.5, 2.0, 1.0], dtype=torch.float64)
    layer.running_var = torch.tensor([0.5, 2.0, 1.0, 3.0], dtype=torch.float64)
    return layer.requires_grad_(False)


def test_hinge_when_scales_have_any_sign_then_equal_to_norm_relu_linear(
    norm: nn.BatchNorm1d,
) -> None:
    torch.manual_seed(0)
    weight, bias = torch.randn(3, 4).double(), torch.randn(3).double()
    features = 2 * torch.randn(50, 4).double()
    expected = norm(features).relu() @ weight.t() + bias
    torch.testing.assert_close(hinge_before(weight, norm, bias)(features), expected)
    torch.testing.assert_close(hinge_before(weight, norm)(features), expected - bias)


def test_norm_after_when_folded_then_equal_to_convolution_and_norm(norm: nn.BatchNorm1d) -> None:
    torch.manual_seed(0)
    convolution = nn.Conv1d(2, 4, 3, bias=False).double().requires_grad_(False)
    signal = torch.randn(5, 2, 20).double()
    folded = norm_after(convolution.weight, norm)
    found = nn.functional.conv1d(signal, folded.weight, folded.bias)
    torch.testing.assert_close(found, norm(convolution(signal)))


def test_norm_after_when_norm_has_no_affine_then_only_statistics_count() -> None:
    layer = nn.BatchNorm1d(2, affine=False).double().eval()
    layer.running_mean = torch.tensor([1.0, 2.0], dtype=torch.float64)
    layer.running_var = torch.tensor([4.0, 9.0], dtype=torch.float64)
    folded = norm_after(torch.eye(2).double(), layer)
    # (x - 1) / 2 and (x - 2) / 3, up to the epsilon of 1e-5.
    torch.testing.assert_close(
        folded.weight, torch.diag(torch.tensor([0.5, 1 / 3]).double()), atol=1e-5, rtol=0
    )
    torch.testing.assert_close(
        folded.bias, torch.tensor([-0.5, -2 / 3]).double(), atol=1e-5, rtol=0
    )
