"""The attention that training guides, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from nano.batch import PROMPT
from nano.language import ANSWER, MAX_FRAMES, PAD, VOCABULARY, VOICE_BASE, WORD_BASE
from nano.train import GUIDED_HEADS, STAGES, CausalPass, Stage, with_slips


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


def test_slips_when_the_share_is_one_then_words_alone_are_replaced_by_words() -> None:
    known = torch.tensor([[ANSWER, VOICE_BASE, *[WORD_BASE + 7] * 400, PAD]])
    slipped = with_slips(known, 1.0, np.random.default_rng(0))[0]
    assert slipped[:2].tolist() == [ANSWER, VOICE_BASE]
    assert slipped[-1] == PAD
    words = slipped[2:-1]
    assert (words >= WORD_BASE).all()
    assert (words < VOCABULARY).all()
    # Each of 251 words as likely: 400 draws hold about 200 different ones.
    assert 150 < len(words.unique()) < 252


def test_slips_when_the_share_is_zero_then_the_past_is_as_it_was() -> None:
    known = torch.tensor([[ANSWER, WORD_BASE, WORD_BASE + 1]])
    assert with_slips(known, 0.0, np.random.default_rng(0)).equal(known)


@pytest.mark.parametrize("stage", STAGES)
def test_stage_then_each_shape_holds_a_chunk_at_most(stage: Stage) -> None:
    assert all(frames <= MAX_FRAMES and rows > 0 for frames, rows in stage.shapes)
    assert stage.end_rate <= stage.rate
