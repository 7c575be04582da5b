from __future__ import annotations

import math

import pytest
import torch

from murmur_cli.asr.whisper.language import (
    LanguageGuess,
    guess_language,
    is_mixed,
    pool_guesses,
    spread_indices,
)
from support.tiny_whisper import ENGLISH, GERMAN, VOCABULARY, tiny_tokens


def guess(en: float) -> LanguageGuess:
    return LanguageGuess({"de": 1 - en, "en": en})


def test_guess_when_from_logits_then_softmax_over_languages_only() -> None:
    logits = torch.full((2, VOCABULARY), 30.0)
    logits[:, ENGLISH], logits[:, GERMAN] = 0.0, math.log(3.0)
    logits[1, ENGLISH] = math.log(9.0)
    first, second = guess_language(logits, tiny_tokens())
    assert first.probabilities == pytest.approx({"de": 0.75, "en": 0.25})
    assert (first.best, second.best) == ("de", "en")


def test_best_when_tied_then_first_in_the_alphabet() -> None:
    assert guess(0.5).best == "de"


def test_pool_when_windows_disagree_then_mean_decides() -> None:
    pooled = pool_guesses([guess(0.9), guess(0.2), guess(0.7)])
    assert pooled.probabilities["en"] == pytest.approx(0.6)
    assert pooled.best == "en"


def test_mixed_when_windows_are_certain_of_different_languages() -> None:
    assert is_mixed([guess(0.95), guess(0.05)])
    assert not is_mixed([guess(0.95), guess(0.2)])
    assert not is_mixed([guess(0.95), guess(0.99)])


@pytest.mark.parametrize(
    ("count", "wanted"),
    [(0, ()), (1, (0,)), (5, (0, 1, 2, 3, 4)), (6, (0, 1, 2, 4, 5)), (101, (0, 25, 50, 75, 100))],
)
def test_spread_when_more_than_wanted_then_first_last_and_even(
    count: int, wanted: tuple[int, ...]
) -> None:
    assert spread_indices(count) == wanted
