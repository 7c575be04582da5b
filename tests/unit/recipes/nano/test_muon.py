"""The update is about orthogonal."""

from __future__ import annotations

import pytest
import torch

from nano.muon import Muon, orthogonal


@pytest.mark.parametrize("shape", [(16, 16), (8, 40), (40, 8)])
def test_orthogonal_then_singular_values_near_one(shape: tuple[int, int]) -> None:
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape, generator=torch.manual_seed(0))))
    assert values.min() > 0.3
    assert values.max() < 1.3


def test_step_when_a_quadratic_is_minimised_then_it_falls() -> None:
    matrix = torch.nn.Parameter(torch.eye(4))
    optimizer = Muon([matrix], lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        matrix.square().sum().backward()
        optimizer.step()
    assert matrix.square().sum() < 0.5
