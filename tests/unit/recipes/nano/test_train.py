"""The attention that training guides, by hand."""

from __future__ import annotations

import math

import pytest
import torch

from nano.batch import PROMPT
from nano.train import GUIDED_HEADS, CausalPass


def test_straying_when_all_keys_are_alike_then_by_the_share_of_frames() -> None:
    """Prompt 2, speech 4, output 2: the first output sees 7 entries, the second 8."""
    layer = GUIDED_HEADS[0][0]
    guided = sum(guide == layer for guide, _ in GUIDED_HEADS)
    attention = CausalPass(looks=torch.tensor([[[0, 2], [3, 4]]]))
    query, keys = torch.zeros(1, 6, 8, 4), torch.zeros(1, 2, 8, 4)
    values = torch.randn(1, 2, 8, 4, generator=torch.manual_seed(0))
    mixed = attention.attend(layer, False, query, keys, values, 0.5, None)
    assert mixed.shape == (1, 8, 6, 4)
    torch.testing.assert_close(mixed[0, 7, 0], values[0, 0].mean(dim=0))
    torch.testing.assert_close(mixed[0, 7, 5], values[0, 1].mean(dim=0))
    assert len(PROMPT) == 2
    assert len(attention.straying) == guided
    assert float(attention.straying[0]) == pytest.approx(-(math.log(2 / 7) + math.log(1 / 8)) / 2)


def test_straying_when_a_token_is_heard_nowhere_then_not_counted() -> None:
    layer = GUIDED_HEADS[0][0]
    attention = CausalPass(looks=torch.tensor([[[1, 3], [0, 0]]]))
    query, keys = torch.zeros(1, 6, 8, 4), torch.zeros(1, 2, 8, 4)
    attention.attend(layer, False, query, keys, keys, 0.5, None)
    assert float(attention.straying[0]) == pytest.approx(-math.log(2 / 7))


def test_other_layers_are_free() -> None:
    attention = CausalPass(looks=torch.tensor([[[1, 3], [0, 0]]]))
    query, keys = torch.zeros(1, 6, 8, 4), torch.zeros(1, 2, 8, 4)
    attention.attend(0, False, query, keys, keys, 0.5, None)
    assert attention.straying == []
