"""The way of one window through the engine: requests until its speech is covered."""

from __future__ import annotations

from dataclasses import dataclass, field

from murmur_cli.asr.whisper.decoder import WindowSource
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.asr.whisper.window_output import (
    LOW_MEAN_LOGPROB,
    HeardStretch,
    WindowOutput,
    read_output,
)
from murmur_cli.asr.whisper.window_time import WindowTime, speech_after
from murmur_cli.engine.request import Finished, Request
from murmur_cli.timebase import SAMPLE_RATE_HZ, to_samples
from murmur_cli.types import (
    Flag,
    KvUsage,
    RejectedText,
    Samples,
    SampleSpan,
    TimeSpan,
    Window,
    join_words,
)

MIN_REST_S = 1.0
"""Less speech than this after the last time is the detector's padding, not a lost word."""

MIN_PROGRESS_S = 0.5
"""A request that reaches less far has not moved; asking again the same way is useless."""

MAX_REQUESTS = 8
"""Requests of one window, the first included."""

RETRY_TEMPERATURES = (0.4, 0.8)
"""After a repetition at the very start, greedy decoding would only repeat itself."""

MAX_NEW_TOKENS = 224
"""Whisper's own limit for a window of 30 s: half of its positions."""

NO_SPEECH_PROBABILITY = 0.6
"""Whisper's own threshold of the probability of its no-speech token."""

SLOWEST_WORDS_PER_S = 0.5
SLOW_SPEECH_S = 5.0
"""A rest that is answered with fewer words than this over this much speech is invented text."""


@dataclass(slots=True)
class WindowTask:
    """One window: what is still to be transcribed, and what was heard so far."""

    name: str
    chunk_index: int
    samples: Samples
    window: Window
    language: str | None
    prompt: tuple[int, ...]
    heard: list[HeardStretch] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)
    rejected: list[RejectedText] = field(default_factory=list)
    untranscribed: list[TimeSpan] = field(default_factory=list)
    kv: KvUsage = field(default_factory=KvUsage)
    requests: int = 0
    tokens: int = 0
    logprob_sum: float = 0.0
    logprob_count: int = 0
    _pieces: tuple[SampleSpan, ...] = ()
    _speech: tuple[SampleSpan, ...] = ()
    _retries: int = 0

    def first_request(self, encoded: object = None) -> Request:
        """The request for the whole window."""
        self._pieces, self._speech = self.window.pieces, self.window.speech
        return self._request(0.0, encoded)

    def take(self, finished: Finished, tokens: WhisperTokens) -> Request | None:
        """Note what was heard; the request for the rest, None when the window is done."""
        time = WindowTime(self._pieces)
        output = read_output(finished, time, self._speech, tokens, self.language)
        self.tokens += len(finished.tokens)
        self.kv += finished.kv
        self.logprob_sum += sum(finished.logprobs)
        self.logprob_count += len(finished.logprobs)
        self.flags.extend(flag for flag in output.flags if flag not in self.flags)
        if _is_no_speech(finished, output):
            self._reject_no_speech(finished, output)
            return None
        rest = speech_after(self._speech, time.to_sample(output.reached_s, is_end=True))
        covered = _seconds(rest) < MIN_REST_S
        if not output.stretches or (output.reached_s < MIN_PROGRESS_S and not covered):
            return self._no_progress(finished)
        self._keep(output)
        if covered:
            return None
        if self.requests >= MAX_REQUESTS:
            self._give_up(rest)
            return None
        self._pieces = time.rest_after(output.reached_s)
        self._speech = rest
        self._retries = 0
        return self._request(0.0)

    def _no_progress(self, finished: Finished) -> Request | None:
        if (
            finished.loop is not None
            and self._retries < len(RETRY_TEMPERATURES)
            and self.requests < MAX_REQUESTS
        ):
            self._retries += 1
            return self._request(RETRY_TEMPERATURES[self._retries - 1])
        self._give_up(self._speech)
        return None

    def _give_up(self, rest: tuple[SampleSpan, ...]) -> None:
        self.untranscribed.extend(span.time for span in rest)
        if Flag.INCOMPLETE not in self.flags:
            self.flags.append(Flag.INCOMPLETE)

    def _reject_no_speech(self, finished: Finished, output: WindowOutput) -> None:
        reason = (
            f"the model hears no speech (probability {finished.no_speech_probability:.2f}) and "
            f"doubts its text (mean log-probability {output.mean_logprob:.2f})"
        )
        self.rejected.extend(
            RejectedText(stretch.span, join_words(stretch.words), reason)
            for stretch in output.stretches
        )
        self.untranscribed.extend(span.time for span in self._speech)
        self.flags.append(Flag.NO_SPEECH)

    def _keep(self, output: WindowOutput) -> None:
        """Take the stretches over, but not text that a rest is too slow for."""
        for stretch in output.stretches:
            speech_s = sum(part.time.overlap_s(stretch.span) for part in self._speech)
            too_slow = speech_s > SLOW_SPEECH_S and len(stretch.words) < (
                SLOWEST_WORDS_PER_S * speech_s
            )
            if self.requests > 1 and too_slow:
                reason = f"{len(stretch.words)} words for {speech_s:.1f} s of speech, on a retry"
                self.rejected.append(RejectedText(stretch.span, join_words(stretch.words), reason))
                self.untranscribed.append(stretch.span)
                if Flag.REJECTED not in self.flags:
                    self.flags.append(Flag.REJECTED)
            else:
                self.heard.append(stretch)

    def _request(self, temperature: float, encoded: object = None) -> Request:
        self.requests += 1
        source = WindowSource(self.samples, self._pieces, encoded)  # type: ignore[arg-type]
        return Request(
            key=self.name,
            source=source,
            prompt=self.prompt,
            audio_s=sum(piece.length for piece in self._pieces) / SAMPLE_RATE_HZ,
            max_new_tokens=MAX_NEW_TOKENS,
            temperature=temperature,
            seed=self._pieces[0].start + self.requests,
        )


def _is_no_speech(finished: Finished, output: WindowOutput) -> bool:
    """Whisper's own rule: it says so, and its text is doubtful (arXiv:2212.04356, sec. 4.5)."""
    probability = finished.no_speech_probability
    return (
        probability is not None
        and probability > NO_SPEECH_PROBABILITY
        and output.mean_logprob < LOW_MEAN_LOGPROB
    )


def _seconds(spans: tuple[SampleSpan, ...]) -> float:
    return sum(span.length for span in spans) / to_samples(1.0)
