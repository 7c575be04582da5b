"""Rules of decoding for a SpeechLLM."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.asr.speech_llm.family import SpeechLlm


class FamilyRule:
    """The engine's TokenRule: tokens that stand for audio are never put out.

    The library's own code takes such a token in the output for another stretch of speech.
    """

    def __init__(self, family: SpeechLlm) -> None:
        self._family = family
        self._forbidden = list(family.forbidden_tokens)

    @property
    def is_fixed(self) -> bool:
        """True."""
        return True

    def is_text(self, token: int) -> bool:
        """Whether the loop guard counts this token."""
        return self._family.is_text(token)

    def restrict(self, logits: torch.Tensor, outputs: Sequence[Sequence[int]]) -> None:
        """Forbid in place. logits: (rows, vocabulary) float32."""
        logits[:, self._forbidden] = -torch.inf
