"""The answer to one request of a window, and what is held against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from murmur_cli.asr.whisper.window_output import WindowOutput
from murmur_cli.asr.window_time import WindowTime, speech_after
from murmur_cli.engine.request import StopReason
from murmur_cli.timebase import SAMPLE_RATE_HZ, to_samples
from murmur_cli.types import SampleSpan

MIN_REST_S = 1.0
"""Less speech than this after the last time is the detector's padding, not a lost word."""

MIN_PROGRESS_S = 0.5
"""A request that reaches less far has not moved; asking again the same way is useless."""

SLOWEST_WORDS_PER_S = 0.5
SLOW_SPEECH_S = 5.0
"""A rest that is answered with fewer words than this over this much speech is invented text."""

NEAR_S = 0.3
"""A cut this close to a silence is moved there: the alignment is off by a few tenths."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was heard in the pieces of a request.

    Attributes:
        output: the text.
        time: of the request's pieces.
        speech: detected speech in them.
        is_rest: whether the request is for what an earlier one has left.
    """

    output: WindowOutput
    time: WindowTime
    speech: tuple[SampleSpan, ...]
    is_rest: bool

    @property
    def rest(self) -> tuple[SampleSpan, ...]:
        """Speech after the answer."""
        reached = self.time.to_sample(self.output.reached_s, is_end=True)
        return speech_after(self.speech, reached)

    @property
    def is_covering(self) -> bool:
        """Whether no speech is left that is worth asking for."""
        return seconds(self.rest) < MIN_REST_S

    @property
    def answered_s(self) -> float:
        """Seconds of speech up to where the answer reaches."""
        return seconds(self.speech) - seconds(self.rest)

    @property
    def silence_near_end(self) -> int | None:
        """Middle of a silence, in samples of the recording, close to where the answer ends."""
        reached, near = self.time.to_sample(self.output.reached_s), to_samples(NEAR_S)
        for before, after in pairwise(self.speech):
            if before.end - near <= reached <= after.start + near:
                return (before.end + after.start) // 2
        return None

    @property
    def is_progress(self) -> bool:
        """Whether there is text, and it gets on in the audio."""
        moves = self.output.reached_s >= MIN_PROGRESS_S or self.is_covering
        return bool(self.output.stretches) and moves

    @property
    def is_runaway(self) -> bool:
        """Whether the decoder repeats itself where it began, or says more than can be spoken."""
        stop = self.output.stop
        return stop is StopReason.CEILING or (stop is StopReason.LOOP and not self.is_progress)

    @property
    def is_too_slow(self) -> bool:
        """Whether the answer about a rest has too few words for it."""
        fewest = SLOWEST_WORDS_PER_S * self.answered_s
        return self.is_rest and self.answered_s > SLOW_SPEECH_S and self.output.num_words < fewest

    @property
    def is_doubted(self) -> bool:
        """Whether another try may give a better one (Whisper's own rule, and ours)."""
        evidence = self.output.evidence
        if evidence.is_no_speech:
            return False
        return evidence.is_unlikely or evidence.is_repetitive or self.is_runaway or self.is_too_slow


def best_answer(tries: Sequence[Answer]) -> Answer:
    """Of several answers about the same audio that are all doubted: the likeliest.

    Text that gets on in the audio goes before any that does not.
    """
    return max(
        tries,
        key=lambda answer: (
            answer.is_progress and not answer.is_runaway,
            not answer.is_too_slow,
            answer.output.evidence.mean_logprob,
        ),
    )


def is_reproduced(tries: Sequence[Answer]) -> bool:
    """Whether the last try has given text that an earlier one gave: a draw will not change it.

    The start of a runaway says nothing: how it goes on is what a draw may change.
    """
    *earlier, last = tries
    same = any(answer.output.text == last.output.text for answer in earlier)
    return same and not last.is_runaway


def seconds(spans: Sequence[SampleSpan]) -> float:
    """Seconds of the spans together."""
    return sum(span.length for span in spans) / SAMPLE_RATE_HZ
