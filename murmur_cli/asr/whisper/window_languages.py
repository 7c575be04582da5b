"""The language of each window of a recording, asked of the model."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.asr.whisper.decoder import WhisperDecoder, WindowSource
from murmur_cli.asr.whisper.language import (
    LanguageGuess,
    guess_language,
    is_mixed,
    pool_guesses,
    spread_indices,
)
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.types import SampleSource, Window


def window_languages(
    decoder: WhisperDecoder,
    tokens: WhisperTokens,
    samples: SampleSource,
    windows: Sequence[Window],
) -> tuple[list[str | None], dict[int, torch.Tensor]]:
    """Language of each window, and by window the encoder states that finding out has cost.

    A few windows, spread over the recording, are asked. If they are certain of different
    languages, every window is asked, and believed when it is certain.
    """

    def ask(window: Window) -> tuple[LanguageGuess, torch.Tensor]:
        states = decoder.encode([WindowSource(samples, window.pieces).audio])
        return guess_language(decoder.language_logits(states), tokens)[0], states[0]

    asked = {index: ask(windows[index]) for index in spread_indices(len(windows))}
    guesses = {index: guess for index, (guess, _) in asked.items()}
    encoded = {index: states for index, (_, states) in asked.items()}
    main = pool_guesses(list(guesses.values())).best
    if not is_mixed(list(guesses.values())):
        return [main] * len(windows), encoded
    languages: list[str | None] = []
    for index, window in enumerate(windows):
        guess = guesses[index] if index in guesses else ask(window)[0]
        languages.append(guess.best if guess.is_certain else main)
    return languages, encoded
