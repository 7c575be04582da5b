"""The way of one chunk through the engine: asked whole, and what was cut off asked again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from murmur_cli.asr.speech_llm.decoder import SpeechSource
from murmur_cli.asr.speech_llm.family import Ask, SpeechLlm, SpokenOutput, SpokenSegment
from murmur_cli.asr.speech_llm.text_words import spread_words
from murmur_cli.asr.window_time import WindowTime, speech_after
from murmur_cli.engine.request import Finished, Request, StopReason
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import (
    Chunk,
    Flag,
    KvUsage,
    RejectedText,
    SampleSource,
    SampleSpan,
    Segment,
    TimeSpan,
)

MAX_REQUESTS = 8
"""Of one chunk, the first included."""

MAX_TRIES = 2
"""Answers in a row that do not get on in the audio, before the stretch is given up."""

RETRY_TEMPERATURE = 0.4
"""Of the request after an answer that did not get on: the greedy choice would be the same."""

MIN_REST_S = 1.0
"""Less speech than this after an answer is the detector's padding, not lost words."""

MIN_UNANSWERED_S = 10.0
"""An answer that ends by itself may leave less speech than this: laughter, noise, a murmur."""

MIN_HALF_S = 20.0
"""A stretch of less is not divided further."""

LOW_MEAN_LOGPROB = -1.0
"""Below it the text is doubtful."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Audio to ask about: pieces of the recording, the speech in them, tries so far."""

    pieces: tuple[SampleSpan, ...]
    speech: tuple[SampleSpan, ...]
    tries: int = 0

    @property
    def speech_s(self) -> float:
        """Seconds of its speech."""
        return _seconds(self.speech)

    def after(self, sample: int, tries: int) -> Stretch:
        """What lies after a sample of the recording."""
        pieces = tuple(
            SampleSpan(max(piece.start, sample), piece.end)
            for piece in self.pieces
            if piece.end > sample
        )
        return Stretch(pieces, speech_after(self.speech, sample), tries)

    def halves(self) -> tuple[Stretch, Stretch] | None:
        """Two parts, cut in the silence nearest to the middle of the speech; None if too short."""
        if self.speech_s < 2 * MIN_HALF_S or len(self.speech) < 2:
            return None
        middle = (self.speech[0].start + self.speech[-1].end) // 2
        cut = min(
            ((left.end + right.start) // 2 for left, right in pairwise(self.speech)),
            key=lambda sample: abs(sample - middle),
        )
        before = Stretch(
            tuple(
                SampleSpan(piece.start, min(piece.end, cut))
                for piece in self.pieces
                if piece.start < cut
            ),
            tuple(span for span in self.speech if span.end <= cut),
        )
        return before, self.after(cut, 0)


@dataclass(slots=True)
class ChunkTask:
    """One chunk: what is still to be asked about, and what was said so far."""

    name: str
    chunk: Chunk
    samples: SampleSource
    family: SpeechLlm
    ask: Ask
    max_new_tokens: int
    segments: list[Segment] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)
    rejected: list[RejectedText] = field(default_factory=list)
    untranscribed: list[TimeSpan] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    kv: KvUsage = field(default_factory=KvUsage)
    requests: int = 0
    tokens: int = 0
    loops: int = 0
    logprobs: list[float] = field(default_factory=list)
    _now: Stretch = field(init=False)
    _waiting: list[Stretch] = field(default_factory=list)
    _parts: int = 0

    def first_request(self) -> Request:
        """The request for the whole chunk."""
        self._now = Stretch(
            tuple(piece for window in self.chunk.windows for piece in window.pieces),
            self.chunk.speech,
        )
        return self._request()

    def take(self, finished: Finished) -> Request | None:
        """Note what was said; the next request, None when the chunk is done."""
        self.tokens += len(finished.tokens)
        self.kv += finished.kv
        self.logprobs.extend(finished.logprobs)
        tokens = finished.tokens
        if finished.loop is not None:
            self.loops += 1
            self._flag(Flag.LOOP)
            # The first occurrence may have been said.
            tokens = tokens[: finished.loop.start + finished.loop.period]
        elif finished.stop is not StopReason.END:
            self._flag(Flag.LENGTH_LIMIT)
        output = self.family.read(tokens, is_cut=finished.stop is not StopReason.END)
        if output.language:
            self.languages.append(output.language)
        if self.family.traits.carries_times:
            self._take_timed(output, finished)
        else:
            self._take_untimed(output, finished)
        return self._next()

    # --- answers ----------------------------------------------------------------------------

    def _take_timed(self, output: SpokenOutput, finished: Finished) -> None:
        """Keep the whole segments; ask again from where they end, if they do not cover."""
        now, time = self._now, WindowTime(self._now.pieces)
        heard = [self._segment(spoken, time, finished) for spoken in output.segments]
        self.segments.extend(segment for segment in heard if segment is not None)
        self._parts += 1
        ends = [spoken.end_s for spoken in output.segments if spoken.end_s is not None]
        reached_s = min(max(ends, default=0.0), time.duration_s)
        rest = now
        if reached_s > 0:
            rest = now.after(time.to_sample(reached_s, is_end=True), 0)
        is_whole = output.is_whole and finished.stop is StopReason.END
        if rest.speech_s < (MIN_UNANSWERED_S if is_whole and output.segments else MIN_REST_S):
            self._set_aside(output.unreadable, now, "not readable")
            return
        moved = rest.speech_s < now.speech_s
        self._set_aside(output.unreadable, now, "cut off; its audio was asked about again")
        self._again(Stretch(rest.pieces, rest.speech, 0 if moved else now.tries + 1))

    def _take_untimed(self, output: SpokenOutput, finished: Finished) -> None:
        """Keep an answer that ended; one that was cut says not how far it got, so its audio is
        asked about in halves."""
        now = self._now
        if finished.stop is not StopReason.END:
            halves = now.halves()
            if halves is not None and self.requests + 1 < MAX_REQUESTS:
                for spoken in output.segments:
                    self._set_aside(spoken.text, now, "cut off; asked about again in halves")
                self._waiting[:0] = halves
                return
            if now.tries + 1 < MAX_TRIES and self.requests < MAX_REQUESTS:
                for spoken in output.segments:
                    self._set_aside(spoken.text, now, "cut off; asked about again")
                self._waiting.insert(0, Stretch(now.pieces, now.speech, now.tries + 1))
                return
            self._flag(Flag.INCOMPLETE)
            self.untranscribed.extend(span.time for span in now.speech)
        time = WindowTime(now.pieces)
        heard = [self._segment(spoken, time, finished) for spoken in output.segments]
        self.segments.extend(segment for segment in heard if segment is not None)
        self._set_aside(output.unreadable, now, "not readable")
        self._parts += 1
        if not output.segments and finished.stop is StopReason.END:
            self._again(Stretch(now.pieces, now.speech, now.tries + 1))

    def _again(self, stretch: Stretch) -> None:
        """Ask about a stretch, or give it up."""
        if stretch.tries < MAX_TRIES and self.requests < MAX_REQUESTS:
            self._waiting.insert(0, stretch)
            return
        self._flag(Flag.INCOMPLETE)
        self.untranscribed.extend(span.time for span in stretch.speech)

    def _next(self) -> Request | None:
        while self._waiting:
            self._now = self._waiting.pop(0)
            if self.requests < MAX_REQUESTS and self._now.speech:
                return self._request()
            self._flag(Flag.INCOMPLETE)
            self.untranscribed.extend(span.time for span in self._now.speech)
        self.segments.sort(key=lambda segment: segment.span)
        return None

    # --- records ----------------------------------------------------------------------------

    def _segment(
        self, spoken: SpokenSegment, time: WindowTime, finished: Finished
    ) -> Segment | None:
        """The segment in recording time; None if it holds no word."""
        if spoken.is_event:
            return None
        start_s = 0.0 if spoken.start_s is None else spoken.start_s
        end_s = time.duration_s if spoken.end_s is None else spoken.end_s
        first_s = min(max(start_s, 0.0), time.duration_s)
        last_s = min(max(end_s, first_s), time.duration_s)
        flags = (Flag.TIME_OUT_OF_RANGE,) if (first_s, last_s) != (start_s, end_s) else ()
        if flags:
            self._flag(*flags)
        if finished.logprobs and float(np.mean(finished.logprobs)) < LOW_MEAN_LOGPROB:
            flags = (*flags, Flag.LOW_CONFIDENCE)
            self._flag(Flag.LOW_CONFIDENCE)
        span = time.to_recording(first_s, last_s)
        words = spread_words(spoken.text, span, self._now.speech, None)
        if not words:
            return None
        return Segment(
            TimeSpan(words[0].span.start_s, words[-1].span.end_s),
            words,
            self.chunk.index,
            language=self.ask.language or (self.languages[-1] if self.languages else None),
            flags=flags,
            local_speaker=spoken.speaker,
            part=self._parts,
        )

    def _set_aside(self, text: str, stretch: Stretch, reason: str) -> None:
        """Keep text on record that the transcript leaves out."""
        if text.strip():
            span = TimeSpan(
                stretch.pieces[0].start / SAMPLE_RATE_HZ, stretch.pieces[-1].end / SAMPLE_RATE_HZ
            )
            self.rejected.append(RejectedText(span, text.strip(), reason))
            self._flag(Flag.REJECTED)

    def _flag(self, *flags: Flag) -> None:
        self.flags.extend(flag for flag in flags if flag not in self.flags)

    def _request(self) -> Request:
        self.requests += 1
        stretch = self._now
        audio_s = _seconds(stretch.pieces)
        ask = Ask(audio_s, self.ask.language, self.ask.task, self.ask.context)
        prompt = self.family.prompt(ask)
        return Request(
            key=self.name,
            source=SpeechSource(self.samples, stretch.pieces),
            prompt=prompt.before,
            suffix=prompt.after,
            audio_s=audio_s,
            max_new_tokens=self.max_new_tokens,
            temperature=RETRY_TEMPERATURE if stretch.tries else 0.0,
            seed=stretch.pieces[0].start + self.requests,
        )


def _seconds(spans: Sequence[SampleSpan]) -> float:
    return sum(span.length for span in spans) / SAMPLE_RATE_HZ
