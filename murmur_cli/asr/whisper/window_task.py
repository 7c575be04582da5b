"""The way of one window through the engine: requests until its speech is covered."""

from __future__ import annotations

from dataclasses import dataclass, field

from murmur_cli.asr.whisper.decoder import WindowSource
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.asr.whisper.unheard_speech import unheard_speech
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
    SampleSource,
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

MAX_LOOPS = 3
"""Repetitions cut in a row before the span of speech they are in is left out."""

MAX_NEW_TOKENS = 224
"""Whisper's own limit for a window of 30 s: half of its positions."""

NO_SPEECH_PROBABILITY = 0.6
"""Whisper's own threshold of the probability of its no-speech token."""

SLOWEST_WORDS_PER_S = 0.5
SLOW_SPEECH_S = 5.0
"""A rest that is answered with fewer words than this over this much speech is invented text."""


@dataclass(slots=True)
class WindowTask:
    """One window: what is still to be transcribed, and what was heard so far.

    `text_language` is the language of the text: 'en' when speech of any language is translated.
    `finds_unheard` asks again for speech between words that no word accounts for; the words of
    a translation are not in the order of the speech, so it is off there.
    """

    name: str
    chunk_index: int
    samples: SampleSource
    window: Window
    language: str | None
    prompt: tuple[int, ...]
    text_language: str | None = None
    finds_unheard: bool = True
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
    _loops: int = 0
    _unheard: list[SampleSpan] | None = None

    def first_request(self, encoded: object = None) -> Request:
        """The request for the whole window."""
        self._pieces, self._speech = self.window.pieces, self.window.speech
        return self._request(0.0, encoded)

    def take(self, finished: Finished, tokens: WhisperTokens) -> Request | None:
        """Note what was heard; the request for the rest, None when the window is done."""
        time = WindowTime(self._pieces)
        output = read_output(finished, time, self._speech, tokens, self.text_language)
        self.tokens += len(finished.tokens)
        self.kv += finished.kv
        self.logprob_sum += sum(finished.logprobs)
        self.logprob_count += len(finished.logprobs)
        self._flag(*output.flags)
        rest = speech_after(self._speech, time.to_sample(output.reached_s, is_end=True))
        if self._unheard is not None:
            return self._take_unheard(finished, output, rest)
        if _is_no_speech(finished, output):
            reason = (
                f"the model hears no speech (probability {finished.no_speech_probability:.2f}) "
                f"and doubts its text (mean log-probability {output.mean_logprob:.2f})"
            )
            self._reject(output, reason, Flag.NO_SPEECH)
            return self._ask_for_unheard()
        covered = _seconds(rest) < MIN_REST_S
        if not output.stretches or (output.reached_s < MIN_PROGRESS_S and not covered):
            return self._no_progress(finished, output)
        answered_s = _seconds(self._speech) - _seconds(rest)
        if self.requests > 1 and _is_too_slow(output, answered_s):
            again = self._retry()
            if again is not None:
                return again
            reason = f"{_num_words(output)} words for {answered_s:.1f} s of speech, on a retry"
            self._reject(output, reason, Flag.REJECTED)
            return self._ask_for_unheard()
        self.heard.extend(output.stretches)
        if covered:
            return self._ask_for_unheard()
        self._retries = 0
        self._loops = self._loops + 1 if finished.loop is not None else 0
        if self._loops >= MAX_LOOPS:
            return self._step_over(rest)
        return self._go_on(time.rest_after(output.reached_s), rest)

    def _go_on(
        self, pieces: tuple[SampleSpan, ...], speech: tuple[SampleSpan, ...]
    ) -> Request | None:
        """Ask for what is left, if that is speech and requests are left."""
        if self.requests >= MAX_REQUESTS:
            self._give_up(speech)
            return self._ask_for_unheard()
        if _seconds(speech) < MIN_REST_S:
            return self._ask_for_unheard()
        self._pieces, self._speech = pieces, speech
        return self._request(0.0)

    def _no_progress(self, finished: Finished, output: WindowOutput) -> Request | None:
        if finished.loop is not None:
            return self._retry() or self._step_over(self._speech)
        self._reject(output, "the model stops at once", Flag.INCOMPLETE)
        return self._ask_for_unheard()

    def _retry(self) -> Request | None:
        """The same stretch again with a draw in place of the greedy choice; None if used up."""
        if self._retries >= len(RETRY_TEMPERATURES) or self.requests >= MAX_REQUESTS:
            return None
        self._retries += 1
        return self._request(RETRY_TEMPERATURES[self._retries - 1])

    def _step_over(self, speech: tuple[SampleSpan, ...]) -> Request | None:
        """Leave out the span where the decoder keeps repeating itself; go on after it."""
        self._give_up(speech[:1])
        self._loops = self._retries = 0
        rest = speech[1:]
        if not rest:
            return self._ask_for_unheard()
        return self._go_on(_pieces_from(self._pieces, rest[0].start), rest)

    def _ask_for_unheard(self) -> Request | None:
        """The next stretch of speech between words that no word accounts for.

        Every window ends here, so that a skipped stretch is asked for or, when requests are used
        up, on record.
        """
        if self._unheard is None:
            self._unheard = []
            if self.finds_unheard:
                words = [word for stretch in self.heard for word in stretch.words]
                # What was given up is on record; asking again would give the same answer.
                self._unheard = list(unheard_speech(self.window.speech, words, self.untranscribed))
        if self.requests >= MAX_REQUESTS:
            self._give_up(tuple(self._unheard))
            self._unheard = []
        if not self._unheard:
            return None
        span = self._unheard.pop(0)
        self._pieces = self._speech = (span,)
        return self._request(0.0)

    def _take_unheard(
        self, finished: Finished, output: WindowOutput, rest: tuple[SampleSpan, ...]
    ) -> Request | None:
        """Believe an answer about skipped speech only if it is likely and dense enough."""
        if (
            finished.loop is not None
            or output.mean_logprob < LOW_MEAN_LOGPROB
            or _num_words(output) < SLOWEST_WORDS_PER_S * _seconds(self._speech)
        ):
            self._reject(output, "a doubtful answer about skipped speech", Flag.INCOMPLETE)
        else:
            self.heard.extend(output.stretches)
            self.heard.sort(key=lambda stretch: stretch.words[0].span.start_s)
            if _seconds(rest) >= MIN_REST_S:
                self._give_up(rest)
        return self._ask_for_unheard()

    def _give_up(self, rest: tuple[SampleSpan, ...]) -> None:
        self.untranscribed.extend(span.time for span in rest)
        if rest:
            self._flag(Flag.INCOMPLETE)

    def _reject(self, output: WindowOutput, reason: str, flag: Flag) -> None:
        """Leave the text out, but on record; its speech counts as not transcribed."""
        self.rejected.extend(
            RejectedText(stretch.span, join_words(stretch.words), reason)
            for stretch in output.stretches
        )
        self.untranscribed.extend(span.time for span in self._speech)
        self._flag(flag)

    def _flag(self, *flags: Flag) -> None:
        self.flags.extend(flag for flag in flags if flag not in self.flags)

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


def _is_too_slow(output: WindowOutput, answered_s: float) -> bool:
    return answered_s > SLOW_SPEECH_S and _num_words(output) < SLOWEST_WORDS_PER_S * answered_s


def _num_words(output: WindowOutput) -> int:
    return sum(len(stretch.words) for stretch in output.stretches)


def _pieces_from(pieces: tuple[SampleSpan, ...], start: int) -> tuple[SampleSpan, ...]:
    return tuple(
        SampleSpan(max(piece.start, start), piece.end) for piece in pieces if piece.end > start
    )


def _seconds(spans: tuple[SampleSpan, ...]) -> float:
    return sum(span.length for span in spans) / to_samples(1.0)
