"""The way of one window through the engine: requests until its speech is covered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from murmur_cli.asr.whisper.answer import (
    MIN_REST_S,
    SLOWEST_WORDS_PER_S,
    Answer,
    best_answer,
    is_reproduced,
    seconds,
)
from murmur_cli.asr.whisper.decoder import WindowSource
from murmur_cli.asr.whisper.fallback import TEMPERATURES
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.asr.whisper.unheard_speech import unheard_speech
from murmur_cli.asr.whisper.window_output import HeardStretch, WindowOutput, read_output
from murmur_cli.asr.window_time import WindowTime
from murmur_cli.engine.request import Finished, Request, StopReason
from murmur_cli.settings import RETRY_TEMPERATURE
from murmur_cli.timebase import SAMPLE_RATE_HZ
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

MAX_REQUESTS = 8
"""Stretches asked for in one window, the first included; retries of a stretch not counted."""

MAX_RETRIES = 8
"""Tries of one window at a temperature, over all its requests."""

MAX_LOOPS = 3
"""Repetitions cut in a row before the span of speech they are in is left out."""

MAX_NEW_TOKENS = 224
"""Whisper's own limit for a window of 30 s: half of its positions."""


@dataclass(slots=True)
class WindowTask:
    """One window: what is still to be transcribed, and what was heard so far.

    `text_language` is the language of the text: 'en' when speech of any language is translated.
    `finds_unheard` asks again for speech between words that no word accounts for; the words of
    a translation are not in the order of the speech, so it is off there. `loop_temperature` is
    that of the request after the second repetition in a row, which fresh context has not helped.
    """

    name: str
    chunk_index: int
    samples: SampleSource
    window: Window
    language: str | None
    prompt: tuple[int, ...]
    text_language: str | None = None
    finds_unheard: bool = True
    loop_temperature: float = RETRY_TEMPERATURE
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
    loops: int = 0
    _asked: int = 0
    _retries: int = 0
    _tries: list[Answer] = field(default_factory=list)
    _loops_in_a_row: int = 0
    _unheard: list[SampleSpan] | None = None

    def first_request(self, encoded: object = None) -> Request:
        """The request for the whole window."""
        self._pieces, self._speech = self.window.pieces, self.window.speech
        return self._ask(encoded=encoded)

    def take(self, finished: Finished, tokens: WhisperTokens) -> Request | None:
        """Note what was heard; the request for the rest, None when the window is done."""
        time = WindowTime(self._pieces)
        output = read_output(finished, time, self._speech, tokens, self.text_language)
        self.tokens += len(finished.tokens)
        self.kv += finished.kv
        self.logprob_sum += sum(finished.logprobs)
        self.logprob_count += len(finished.logprobs)
        if finished.loop is not None:
            self.loops += 1
            self._flag(Flag.LOOP)
        answer = Answer(output, time, self._speech, self._asked > 1)
        if self._unheard is not None:
            return self._take_unheard(answer)
        self._tries.append(answer)
        if answer.is_doubted:
            again = self._retry()
            if again is not None:
                return again
            answer = best_answer(self._tries)
        return self._accept(answer)

    def _retry(self) -> Request | None:
        """The same stretch again with a draw in place of the greedy choice; None if used up."""
        tries = len(self._tries) - 1
        if tries >= len(TEMPERATURES) or self._retries >= MAX_RETRIES or is_reproduced(self._tries):
            return None
        self._retries += 1
        return self._request(TEMPERATURES[tries])

    def _accept(self, answer: Answer) -> Request | None:
        """Take in the answer that is final for its stretch; the next request."""
        output, evidence = answer.output, answer.output.evidence
        self._flag(*output.flags)
        if evidence.is_no_speech:
            reason = (
                f"the model hears no speech (probability {evidence.no_speech_probability:.2f}) "
                f"and doubts its text (mean log-probability {evidence.mean_logprob:.2f})"
            )
            self._reject(output, reason, Flag.NO_SPEECH)
        elif answer.is_runaway:
            self._set_aside(output.stretches, "the decoder ran away")
            return self._step_over(self._speech)
        elif not answer.is_progress:
            self._reject(output, "the model stops at once", Flag.INCOMPLETE)
        elif answer.is_too_slow:
            reason = f"{output.num_words} words for {answer.answered_s:.1f} s of speech, on a retry"
            self._reject(output, reason, Flag.REJECTED)
        else:
            self.heard.extend(output.stretches)
            if output.echoes:
                self._set_aside(output.echoes, "the text before it again, at a time past the audio")
                self._flag(Flag.REJECTED)
            if not answer.is_covering:
                return self._ask_for_rest(answer)
        return self._ask_for_unheard()

    def _ask_for_rest(self, answer: Answer) -> Request | None:
        if answer.output.stop is not StopReason.LOOP:
            self._loops_in_a_row = 0
            return self._go_on(answer.time.rest_after(answer.output.reached_s), answer.rest)
        self._loops_in_a_row += not answer.output.is_spoken_repetition
        if self._loops_in_a_row >= MAX_LOOPS:
            return self._step_over(answer.rest)
        # Fresh context comes first, then another rule: a draw instead of the greedy choice.
        hotter = self.loop_temperature if self._loops_in_a_row > 1 else 0.0
        cut = answer.silence_near_end or answer.time.to_sample(answer.output.reached_s)
        return self._go_on(_from(answer.time.pieces, cut), _from(answer.speech, cut), hotter)

    def _go_on(
        self,
        pieces: tuple[SampleSpan, ...],
        speech: tuple[SampleSpan, ...],
        temperature: float = 0.0,
    ) -> Request | None:
        """Ask for what is left, if that is speech and requests are left."""
        if self._asked >= MAX_REQUESTS:
            self._give_up(speech)
            return self._ask_for_unheard()
        if seconds(speech) < MIN_REST_S:
            return self._ask_for_unheard()
        self._pieces, self._speech = pieces, speech
        return self._ask(temperature)

    def _step_over(self, speech: tuple[SampleSpan, ...]) -> Request | None:
        """Leave out the span where the decoder keeps repeating itself; go on after it."""
        self._give_up(speech[:1])
        self._loops_in_a_row = 0
        rest = speech[1:]
        if not rest:
            return self._ask_for_unheard()
        return self._go_on(_from(self._pieces, rest[0].start), rest)

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
        if self._asked >= MAX_REQUESTS:
            self._give_up(tuple(self._unheard))
            self._unheard = []
        if not self._unheard:
            return None
        span = self._unheard.pop(0)
        self._pieces = self._speech = (span,)
        return self._ask()

    def _take_unheard(self, answer: Answer) -> Request | None:
        """Believe an answer about skipped speech only if it is likely and dense enough."""
        output = answer.output
        if (
            output.stop is not StopReason.END
            or output.evidence.is_unlikely
            or output.num_words < SLOWEST_WORDS_PER_S * seconds(self._speech)
        ):
            self._reject(output, "a doubtful answer about skipped speech", Flag.INCOMPLETE)
        else:
            self._flag(*output.flags)
            self.heard.extend(output.stretches)
            self.heard.sort(key=lambda stretch: stretch.words[0].span.start_s)
            if not answer.is_covering:
                self._give_up(answer.rest)
        return self._ask_for_unheard()

    def _give_up(self, rest: tuple[SampleSpan, ...]) -> None:
        self.untranscribed.extend(span.time for span in rest)
        if rest:
            self._flag(Flag.INCOMPLETE)

    def _reject(self, output: WindowOutput, reason: str, flag: Flag) -> None:
        """Leave the text out, but on record; its speech counts as not transcribed."""
        self._set_aside(output.stretches, reason)
        self.untranscribed.extend(span.time for span in self._speech)
        self._flag(flag)

    def _set_aside(self, stretches: Iterable[HeardStretch], reason: str) -> None:
        """Keep text on record that the transcript leaves out."""
        for stretch in stretches:
            text = join_words(stretch.words)
            self.rejected.append(RejectedText(stretch.span, text, reason))

    def _flag(self, *flags: Flag) -> None:
        self.flags.extend(flag for flag in flags if flag not in self.flags)

    def _ask(self, temperature: float = 0.0, encoded: object = None) -> Request:
        """A first request for the present stretch."""
        self._asked += 1
        self._tries = []
        return self._request(temperature, encoded)

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


def _from(spans: tuple[SampleSpan, ...], start: int) -> tuple[SampleSpan, ...]:
    return tuple(SampleSpan(max(span.start, start), span.end) for span in spans if span.end > start)
