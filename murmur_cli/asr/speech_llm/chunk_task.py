"""The way of one chunk through the engine: asked whole, and what was cut off asked again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from murmur_cli.asr.speech_llm.anchors import Anchor, within_pieces
from murmur_cli.asr.speech_llm.attended_answer import AttendedAnswer
from murmur_cli.asr.speech_llm.decoder import SpeechSource
from murmur_cli.asr.speech_llm.family import Ask, SpeechLlm, SpokenOutput, SpokenSegment
from murmur_cli.asr.speech_llm.placed_segments import PlacedSegment, place_segments, unanswered
from murmur_cli.asr.speech_llm.speech_groups import SpeechGroups, TokenAnchor, group_speech
from murmur_cli.asr.speech_llm.speech_rate import RateFault, rate_fault
from murmur_cli.asr.speech_llm.stretch import Stretch, seconds
from murmur_cli.asr.speech_llm.text_words import spread_words
from murmur_cli.asr.window_time import WindowTime
from murmur_cli.asr.within_speech import within_speech
from murmur_cli.engine.request import Finished, Request, StopReason
from murmur_cli.settings import RETRY_TEMPERATURE
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import (
    Chunk,
    Flag,
    KvUsage,
    RejectedText,
    SampleSource,
    Segment,
    TimeSpan,
    Word,
    WordTimes,
)

MAX_REQUESTS = 8
"""Of one chunk, the first included."""

MAX_TRIES = 2
"""Answers in a row that do not get on in the audio, before the stretch is given up."""

MIN_REST_S = 1.0
"""Less speech than this after an answer is the detector's padding, not lost words."""

MIN_UNANSWERED_S = 10.0
"""An answer that ends by itself may leave less speech than this after it, and any answer between
its segments: laughter, noise, a murmur."""

LOW_MEAN_LOGPROB = -1.0
"""Below it the text is doubtful."""


@dataclass(slots=True)
class ChunkTask:
    """One chunk: what is still to be asked about, and what was said so far."""

    name: str
    chunk: Chunk
    samples: SampleSource
    family: SpeechLlm
    ask: Ask
    max_new_tokens: int
    retry_temperature: float = RETRY_TEMPERATURE
    anchors: tuple[Anchor, ...] = ()
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
    entries_encoded: int = 0
    entries_left: int = 0
    _now: Stretch = field(init=False)
    _waiting: list[Stretch] = field(default_factory=list)
    _parts: int = 0
    _groups: SpeechGroups | None = None
    _attended: AttendedAnswer | None = None

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
        tokens = finished.tokens
        is_cut = finished.stop is not StopReason.END
        if finished.loop is not None:
            self.loops += 1
            self._flag(Flag.LOOP)
            # The first occurrence may have been said.
            tokens = tokens[: finished.loop.start + finished.loop.period]
        elif is_cut:
            self._flag(Flag.LENGTH_LIMIT)
        logprobs = finished.logprobs[: len(tokens) + 1]
        self.logprobs.extend(logprobs)
        is_doubtful = bool(logprobs) and float(np.mean(logprobs)) < LOW_MEAN_LOGPROB
        self._attended = self._attended_answer(finished, tokens)
        output = self.family.read(tokens, is_cut=is_cut)
        if self._groups is not None:
            output = self._groups.in_audio(output)
        if output.language:
            self.languages.append(output.language)
        if self.family.traits.carries_times:
            self._take_timed(output, is_cut, is_doubtful)
        else:
            self._take_untimed(output, is_cut, is_doubtful)
        return self._next()

    # --- answers ----------------------------------------------------------------------------

    def _take_timed(self, output: SpokenOutput, is_cut: bool, is_doubtful: bool) -> None:
        """Keep the whole segments; ask again for the speech that they do not account for."""
        now, duration_s = self._now, WindowTime(self._now.pieces).duration_s
        placed, adrift = place_segments(output.segments, duration_s, is_cut=is_cut)
        self._hear(placed, is_doubtful)
        reason = "cut off" if is_cut else "not readable"
        self._set_aside([*_spoken(adrift), output.unreadable], now, reason)
        gaps, rest = unanswered(now, placed)
        has_ended = output.is_whole and not is_cut and bool(placed)
        least_s = MIN_UNANSWERED_S if has_ended else MIN_REST_S
        again = [gap for gap in gaps if gap.speech_s >= MIN_UNANSWERED_S]
        again += [rest] if rest.speech_s >= least_s else []
        self._again(
            stretch if stretch.speech_s < now.speech_s else replace(now, tries=now.tries + 1)
            for stretch in again
        )

    def _take_untimed(self, output: SpokenOutput, is_cut: bool, is_doubtful: bool) -> None:
        """Keep an answer that ended and can be what was said. One that was cut, or says next to
        nothing, tells not how far it got, so its audio is asked about in halves."""
        now = self._now
        texts = [*_spoken(output.segments), output.unreadable]
        rate = None if is_cut else rate_fault(_spoken(output.segments), now.speech_s)
        if rate is not None:
            self._flag(Flag.SPEECH_RATE)
        if is_cut or rate is not None:
            reason = "cut off" if rate is None else str(rate)
            halves = None if rate is RateFault.TOO_MANY else now.halves()
            if halves is not None and self._may_ask(2):
                self._set_aside(texts, now, f"{reason}; asked about again in halves")
                self._again(halves)
                return
            if now.tries + 1 < MAX_TRIES and self._may_ask(1):
                self._set_aside(texts, now, f"{reason}; asked about again")
                self._again([replace(now, tries=now.tries + 1)])
                return
            if rate is not RateFault.TOO_MANY:
                self._give_up(now)
        duration_s = WindowTime(now.pieces).duration_s
        placed, _ = place_segments(output.segments, duration_s, is_cut=False)
        self._hear(placed, is_doubtful, is_odd_rate=rate is not None)
        self._set_aside([output.unreadable], now, "not readable")
        if not placed and not is_cut and now.speech_s >= MIN_REST_S:
            self._again([replace(now, tries=now.tries + 1)])

    def _again(self, stretches: Iterable[Stretch]) -> None:
        """Ask about stretches next, or give them up."""
        asked: list[Stretch] = []
        for stretch in stretches:
            if stretch.tries < MAX_TRIES and self._may_ask(len(asked) + 1):
                asked.append(stretch)
            else:
                self._give_up(stretch)
        self._waiting[:0] = asked

    def _may_ask(self, more: int) -> bool:
        """Whether so many requests are left beside those that wait."""
        return self.requests + len(self._waiting) + more <= MAX_REQUESTS

    def _give_up(self, stretch: Stretch) -> None:
        self._flag(Flag.INCOMPLETE)
        self.untranscribed.extend(span.time for span in stretch.speech)

    def _next(self) -> Request | None:
        if self._waiting:
            self._now = self._waiting.pop(0)
            return self._request()
        self.segments.sort(key=lambda segment: segment.span)
        self.untranscribed.sort()
        return None

    # --- records ----------------------------------------------------------------------------

    def _hear(
        self, placed: Sequence[PlacedSegment], is_doubtful: bool, *, is_odd_rate: bool = False
    ) -> None:
        """Keep the segments of an answer."""
        found = {Flag.LOW_CONFIDENCE: is_doubtful, Flag.SPEECH_RATE: is_odd_rate}
        flags = [flag for flag, holds in found.items() if holds]
        heard = [self._segment(one, flags) for one in placed]
        self.segments.extend(segment for segment in heard if segment is not None)
        self._parts += 1

    def _segment(self, placed: PlacedSegment, of_answer: Sequence[Flag]) -> Segment | None:
        """The segment in recording time; None if it holds no word."""
        spoken = placed.spoken
        if spoken.is_event:
            return None
        span = WindowTime(self._now.pieces).to_recording(placed.start_s, placed.end_s)
        words, word_times = self._words(placed, span)
        if not words:
            return None
        flags = (*([Flag.TIME_OUT_OF_RANGE] if placed.is_moved else []), *of_answer)
        self._flag(*flags)
        return Segment(
            TimeSpan(words[0].span.start_s, words[-1].span.end_s),
            words,
            self.chunk.index,
            language=self.ask.language or (self.languages[-1] if self.languages else None),
            flags=flags,
            local_speaker=spoken.speaker,
            part=self._parts,
            word_times=word_times,
        )

    def _words(self, placed: PlacedSegment, span: TimeSpan) -> tuple[tuple[Word, ...], WordTimes]:
        """A segment's words with times in the recording, and how they got them."""
        spoken, time = placed.spoken, WindowTime(self._now.pieces)
        spread = spread_words(spoken.text, span, self._now.speech, None)
        given = spoken.start_s is not None and spoken.end_s is not None and not placed.is_moved
        if given and len(spread) == 1:
            return spread, WordTimes.MODEL
        heard = None
        if self._attended is not None:
            told_s = [self._told_s(time_s) for time_s in (placed.start_s, placed.end_s)]
            heard = self._attended.words(spoken.text, *told_s)
        if heard is None:
            return spread, WordTimes.SPREAD
        words = tuple(
            Word(
                one.word.text,
                within_speech(
                    time.to_recording(self._audio_s(one.start_s), self._audio_s(one.end_s)),
                    self._now.speech,
                ),
                one.word.space_before,
            )
            for one in heard
        )
        return words, WordTimes.ATTENTION

    def _attended_answer(self, finished: Finished, tokens: Sequence[int]) -> AttendedAnswer | None:
        """What the heads that followed the audio say of the answer's words."""
        if finished.peaks is None:
            return None
        speech_s = 0.0
        if finished.stop is StopReason.END and self._now.speech:
            speech = self._now.speech
            speech_s = seconds(self._now.between(speech[0].start, speech[-1].end).pieces)
            if self._groups is not None:
                speech_s *= self._groups.told_s / self._groups.audio_s
        return AttendedAnswer.of(
            self.family.answer_text(tokens),
            finished.peaks,
            [self.family.is_text(token) for token in tokens],
            1.0 / self.family.traits.speech_tokens_per_s,
            speech_s,
        )

    def _told_s(self, audio_s: float) -> float:
        """Where the model has a time of the audio, if its speech is grouped."""
        return audio_s if self._groups is None else self._groups.to_told_s(audio_s)

    def _audio_s(self, told_s: float) -> float:
        """The time of the audio that the model has there."""
        return told_s if self._groups is None else self._groups.to_audio_s(told_s)

    def _set_aside(self, texts: Iterable[str], stretch: Stretch, reason: str) -> None:
        """Keep texts on record that the transcript leaves out."""
        span = TimeSpan(stretch.pieces[0].time.start_s, stretch.pieces[-1].time.end_s)
        for text in texts:
            if text.strip():
                self.rejected.append(RejectedText(span, text.strip(), reason))
                self._flag(Flag.REJECTED)

    def _flag(self, *flags: Flag) -> None:
        self.flags.extend(flag for flag in flags if flag not in self.flags)

    def _request(self) -> Request:
        self.requests += 1
        stretch = self._now
        audio_s = seconds(stretch.pieces)
        anchors = self._token_anchors(stretch)
        self._groups = self._grouped(stretch, anchors)
        told_s = audio_s if self._groups is None else self._groups.told_s
        ask = Ask(told_s, self.ask.language, self.ask.task, self.ask.context)
        prompt = self.family.prompt(ask)
        return Request(
            key=self.name,
            source=SpeechSource(self.samples, stretch.pieces, anchors),
            prompt=prompt.before,
            suffix=prompt.after,
            audio_s=audio_s,
            max_new_tokens=self.max_new_tokens,
            temperature=self.retry_temperature if stretch.tries else 0.0,
            seed=stretch.pieces[0].start + self.requests,
        )

    def _token_anchors(self, stretch: Stretch) -> tuple[TokenAnchor, ...]:
        return tuple(
            TokenAnchor(start, end, self.family.text_tokens(f" {text}"))
            for start, end, text in within_pieces(self.anchors, stretch.pieces)
        )

    def _grouped(self, stretch: Stretch, anchors: tuple[TokenAnchor, ...]) -> SpeechGroups | None:
        """How the decoder will group the speech; None where it keeps every entry."""
        if not anchors:
            return None
        samples = sum(piece.length for piece in stretch.pieces)
        audio_s = seconds(stretch.pieces)
        at_rate = math.ceil(samples * self.family.traits.sample_rate_hz / SAMPLE_RATE_HZ)
        groups = group_speech(self.family.speech_entries(at_rate), samples, audio_s, anchors)
        self.entries_encoded += groups.encoded_entries
        self.entries_left += groups.entries
        return groups


def _spoken(segments: Iterable[SpokenSegment]) -> list[str]:
    return [spoken.text for spoken in segments if not spoken.is_event]
