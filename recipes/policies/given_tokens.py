"""A rule of decoding that leaves no choice: every policy is asked the same questions."""

from __future__ import annotations

from collections.abc import Sequence

import torch


class GivenTokens:
    """The engine's TokenRule: row i writes the tokens of list i, whatever the model would.

    Rows must be in the order of the lists and stay together: requests of equal length, submitted
    at once, all in slots, with lists of the same length.
    """

    def __init__(self, tokens: Sequence[Sequence[int]]) -> None:
        assert len({len(one) for one in tokens}) == 1, "lists of one length"
        self._tokens = tokens

    @property
    def is_fixed(self) -> bool:
        """False: another token at every step."""
        return False

    def is_text(self, token: int) -> bool:
        """Nothing is, so that no loop is found."""
        return False

    def restrict(self, logits: torch.Tensor, outputs: Sequence[Sequence[int]]) -> None:
        """Forbid in place all tokens but one of each row. logits: (rows, vocabulary)."""
        assert len(outputs) == len(self._tokens), (len(outputs), len(self._tokens))
        for row, (output, tokens) in enumerate(zip(outputs, self._tokens, strict=True)):
            wanted = tokens[len(output)]
            kept = logits[row, wanted].clone()
            logits[row] = -torch.inf
            logits[row, wanted] = kept
