"""What goes into the engine and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from murmur_cli.engine.speech_peaks import PeakTrace
from murmur_cli.types import KvUsage


@dataclass(frozen=True, slots=True)
class Request:
    """What one slot decodes.

    Attributes:
        key: names the request in results and in errors.
        source: what the adapter loads into the slot (for Whisper: log-mel features).
        prompt: token ids before the speech; before the output, if the model has its speech in
            another cache. Not empty.
        suffix: token ids between the speech and the output.
        audio_s: seconds of audio; the longest request is admitted first.
        max_new_tokens: limit of output tokens.
        temperature: 0 is greedy; above, tokens are drawn from the softened distribution.
        seed: of the draw, so that a row does not depend on its neighbours.
    """

    key: str
    source: Any
    prompt: tuple[int, ...]
    audio_s: float
    max_new_tokens: int
    temperature: float = 0.0
    seed: int = 0
    suffix: tuple[int, ...] = ()

    @property
    def own_tokens(self) -> int:
        """Tokens of prompt and suffix."""
        return len(self.prompt) + len(self.suffix)

    def __post_init__(self) -> None:
        assert self.prompt, self.key
        assert self.max_new_tokens >= 1, (self.key, self.max_new_tokens)


class StopReason(StrEnum):
    """Why a row left the batch."""

    END = "end"
    """The model ended its output."""
    LOOP = "loop"
    """The loop guard found a repetition."""
    CEILING = "ceiling"
    """More tokens than that much audio can hold."""
    LENGTH = "length"
    """The limit of tokens was reached."""


class LoopKind(StrEnum):
    """How a repetition repeats."""

    PERIOD = "period"
    """The same tokens over and over; alternating phrases too."""
    GROWING = "growing"
    """Each occurrence extends or alters the one before."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A repetition at the end of the output: tokens [start, start + period) recur.

    `start` counts output tokens; the end token and what follows are not part of it.
    `repeats` counts occurrences, the first included.
    """

    start: int
    period: int
    repeats: int
    kind: LoopKind = LoopKind.PERIOD


@dataclass(frozen=True, slots=True)
class Finished:
    """The output of one request.

    Attributes:
        request: the request.
        tokens: output ids, without the end token.
        logprobs: log-probability of each token under the rules of decoding, then that of the
            end token if the model ended; natural logarithm.
        stop: why the row left.
        loop: the repetition, if that was the reason.
        kv: entries and bytes read.
        attention: probabilities of the adapter's probe heads, float16, shape
            (tokens, heads, speech entries); zeros where the policy did not read. Row i is the
            attention of the step that produced token i.
        no_speech_probability: what the model says before its first token, None if it says
            nothing.
        wall_s: this request's share of the engine's time.
        peaks: where the adapter's watched heads looked for each token, None where none was.
    """

    request: Request
    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop: StopReason
    loop: Loop | None
    kv: KvUsage
    attention: npt.NDArray[np.float16] | None
    no_speech_probability: float | None
    wall_s: float = 0.0
    peaks: PeakTrace | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A request whose source could not be prepared; others are not touched."""

    request: Request
    error: Exception
