"""Which language is spoken, from several places of the recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_cli.asr.whisper.tokens import WhisperTokens

SAMPLED_WINDOWS = 5
"""Windows looked at for one recording, spread evenly over it."""

CERTAIN = 0.9
"""Probability from which a single window may differ from the rest of the recording."""


@dataclass(frozen=True, slots=True)
class LanguageGuess:
    """Probabilities of languages in one window."""

    probabilities: dict[str, float]

    @property
    def best(self) -> str:
        """Most probable language; ties go to the first in the alphabet."""
        return min(self.probabilities, key=lambda code: (-self.probabilities[code], code))

    @property
    def is_certain(self) -> bool:
        """Whether this window alone may decide."""
        return self.probabilities[self.best] >= CERTAIN


def guess_language(logits: torch.Tensor, tokens: WhisperTokens) -> tuple[LanguageGuess, ...]:
    """One guess per window from logits (windows, vocabulary) after start of transcript."""
    codes = sorted(tokens.languages)
    chosen = torch.softmax(logits[:, [tokens.languages[code] for code in codes]], dim=1)
    return tuple(LanguageGuess(dict(zip(codes, row, strict=True))) for row in chosen.tolist())


def pool_guesses(guesses: Sequence[LanguageGuess]) -> LanguageGuess:
    """Mean probabilities over windows."""
    codes = guesses[0].probabilities
    return LanguageGuess(
        {code: sum(guess.probabilities[code] for guess in guesses) / len(guesses) for code in codes}
    )


def is_mixed(guesses: Sequence[LanguageGuess]) -> bool:
    """Whether windows are certain of different languages."""
    certain = {guess.best for guess in guesses if guess.is_certain}
    return len(certain) > 1


def spread_indices(count: int, wanted: int = SAMPLED_WINDOWS) -> tuple[int, ...]:
    """Up to `wanted` indices of 0..count-1, first and last among them, evenly spread."""
    if count <= wanted:
        return tuple(range(count))
    return tuple(round(k * (count - 1) / (wanted - 1)) for k in range(wanted))
