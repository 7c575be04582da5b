"""The small SpeechLLM of recipes/nano over invented meetings of five minutes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder
from murmur_cli.asr.speech_llm.token_rule import FamilyRule
from murmur_cli.engine.model_adapter import DecoderAdapter, TokenRule
from murmur_cli.engine.request import Finished, Request
from murmur_cli.models.checksum import sha256_of_bytes_in
from nano.attention_heads import AllHeads
from nano.decoding import TokenErrors, held_out, request_of, token_errors
from nano.family import CHECKPOINT, WEIGHTS, Nano
from nano.language import MAX_FRAMES
from policies.run_lines import Line
from policies.subject import Head

BUDGETS: tuple[int, ...] = (128, 64, 32, 256, 16, 512, 1024)


class NanoSubject:
    """Meetings that training has not seen, with three codes of seven digits in those long enough.

    Args:
        meetings: how many.
        frames: of each.
        checkpoint: folder of the weights.

    Raises:
        OSError, SafetensorError, RuntimeError: the weights are missing or another model's.
    """

    def __init__(
        self, meetings: int, frames: int = MAX_FRAMES, checkpoint: Path = CHECKPOINT
    ) -> None:
        self.name = "nano"
        self.meetings = held_out(frames, meetings)
        self._nano, self._watched = Nano.load(checkpoint), AllHeads.load(checkpoint)
        self._requests = [
            request_of(meeting, str(number)) for number, meeting in enumerate(self.meetings)
        ]
        self.longest_s = max(request.audio_s for request in self._requests)
        self.rates = self._nano.traits.rates(self.longest_s)
        config = self._nano.text_config
        self.heads_are_shared = config.num_key_value_heads < config.num_attention_heads
        self.heads: tuple[Head, ...] = self._watched.probe_heads
        self.budgets = BUDGETS
        digest = hashlib.sha256(sha256_of_bytes_in((checkpoint / WEIGHTS,)).encode())
        for meeting in self.meetings:
            digest.update(meeting.frames.tobytes())
        self.content_sha256 = digest.hexdigest()

    def adapter(self, *, all_heads: bool = False) -> DecoderAdapter:
        """A decoder over the weights."""
        return SpeechLlmDecoder(self._watched if all_heads else self._nano, self.longest_s)

    @property
    def rule(self) -> TokenRule:
        """Nothing of the frame around the answer."""
        return FamilyRule(self._nano)

    @property
    def requests(self) -> list[Request]:
        """One for each meeting."""
        return list(self._requests)

    def judge(self, done: Sequence[Finished], full: Line | None) -> Line:
        """Token errors, and the codes that are found whole (the needle test)."""
        each = [
            token_errors(meeting, one.tokens)
            for meeting, one in zip(self.meetings, done, strict=True)
        ]
        errors = sum(each, TokenErrors())
        before = full["tokens"] if full is not None else []
        changed = [
            token_distance(own, one.tokens)
            for own, one in zip(before, done, strict=full is not None)
        ]
        return {
            "errors": errors.errors,
            "length": errors.tokens,
            "changed": sum(changed),
            "full_length": sum(map(len, before)),
            "codes": errors.codes,
            "codes_found": errors.codes_found,
            "rates": {str(n): round(one.percent, 1) for n, one in enumerate(each)},
            "lengths": {str(n): one.tokens for n, one in enumerate(each)},
            "stops": dict(Counter(str(one.stop) for one in done)),
        }


def token_distance(reference: Sequence[int], output: Sequence[int]) -> int:
    """Fewest operations (MeetEval) that make one of the other."""
    from meeteval.wer.wer.siso import siso_word_error_rate

    rate = siso_word_error_rate(" ".join(map(str, reference)), " ".join(map(str, output)))
    return int(rate.errors)
