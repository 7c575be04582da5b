"""Whisper's rules of decoding with timestamps, on the logits of a batch.

Source: Whisper's reference decoding (openai/whisper, `decoding.py`, timestamp rules):
timestamps come in pairs around text, never decrease, start within the first second, and are
forced when their joint probability exceeds that of any text token.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.asr.whisper.tokens import WhisperTokens

NEVER = float("-inf")


class TimestampRules:
    """The engine's TokenRule for Whisper."""

    def __init__(self, tokens: WhisperTokens) -> None:
        self._tokens = tokens
        self._suppressed = torch.tensor(tokens.suppressed, dtype=torch.long)

    @property
    def is_fixed(self) -> bool:
        """False: what is allowed depends on the output so far."""
        return False

    def is_text(self, token: int) -> bool:
        """Whether the loop guard counts this token: all but timestamps."""
        return not self._tokens.is_timestamp(token)

    def restrict(self, logits: torch.Tensor, outputs: Sequence[Sequence[int]]) -> None:
        """Forbid in place what the rules forbid. logits: (rows, vocabulary) float32."""
        begin = self._tokens.timestamp_begin
        logits[:, self._suppressed.to(logits.device)] = NEVER
        for row, output in enumerate(outputs):
            self._restrict_row(logits[row], output)
        times = torch.logsumexp(logits[:, begin:], dim=1)
        text = logits[:, :begin].amax(dim=1)
        for row in (times > text).nonzero()[:, 0].tolist():
            logits[row, :begin] = NEVER

    def _restrict_row(self, logits: torch.Tensor, output: Sequence[int]) -> None:
        begin, end = self._tokens.timestamp_begin, self._tokens.end
        if not output:
            logits[:begin] = NEVER
            logits[begin + self._tokens.max_initial_timestamp + 1 :] = NEVER
            return
        last_is_time = output[-1] >= begin
        before_is_time = len(output) < 2 or output[-2] >= begin
        if last_is_time and before_is_time:
            logits[begin:] = NEVER  # a pair is complete: text follows
        elif last_is_time:
            logits[:end] = NEVER  # a segment was closed: its partner or the end follows
        latest = next((token for token in reversed(output) if token >= begin), None)
        if latest is not None:
            # A segment may start where the last one ended, but has a length itself.
            floor = latest if last_is_time and not before_is_time else latest + 1
            logits[begin:floor] = NEVER
