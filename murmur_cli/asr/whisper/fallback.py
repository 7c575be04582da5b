"""Whisper's own guards: which answer is asked for again, and which of several is kept.

Source: openai/whisper, `transcribe.py` (`decode_with_fallback`), thresholds as published there
and in arXiv:2212.04356, section 4.5. Two things differ. When every try fails, the likeliest is
kept, not the last. And a doubtful text that a draw gives again word for word is believed at
once: more draws would cost time and say the same.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from murmur_cli.types import Flag

TEMPERATURES = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Of the tries after the greedy one, in order."""

MAX_COMPRESSION_RATIO = 2.4
"""Text that zlib makes smaller than this repeats itself."""

LOW_MEAN_LOGPROB = -1.0
"""Below it the text is doubtful."""

NO_SPEECH_PROBABILITY = 0.6
"""Above it, and with doubtful text, the audio is silence."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the model's answer to one request says about itself.

    Attributes:
        text: the text, with the first occurrence only of what the loop guard found.
        mean_logprob: over its tokens and the end token if there is one, natural logarithm.
        no_speech_probability: None if the model has no such token.
    """

    text: str
    mean_logprob: float
    no_speech_probability: float | None

    @property
    def is_unlikely(self) -> bool:
        """Whether the model itself doubts the text."""
        return self.mean_logprob < LOW_MEAN_LOGPROB

    @property
    def is_no_speech(self) -> bool:
        """Whether the model hears nobody and doubts its text."""
        probability = self.no_speech_probability
        return probability is not None and probability > NO_SPEECH_PROBABILITY and self.is_unlikely

    @property
    def is_repetitive(self) -> bool:
        """Whether the text compresses too well."""
        return compression_ratio(self.text) > MAX_COMPRESSION_RATIO

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What a reader should know if the text is kept."""
        unlikely = (Flag.LOW_CONFIDENCE,) if self.is_unlikely else ()
        return (*unlikely, *((Flag.REPETITIVE,) if self.is_repetitive else ()))


def compression_ratio(text: str) -> float:
    """Bytes of the text for each byte that zlib needs for it; 0 for no text."""
    raw = text.strip().encode()
    return len(raw) / len(zlib.compress(raw)) if raw else 0.0
