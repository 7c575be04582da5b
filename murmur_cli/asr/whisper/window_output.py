"""One finished request of a window -> words in recording time, and how far the text reaches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.asr.whisper.fallback import Evidence
from murmur_cli.asr.whisper.repetition import Cut, cut_repetition
from murmur_cli.asr.whisper.segments import TimedText, split_by_timestamps
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.asr.whisper.word_alignment import token_starts_s
from murmur_cli.asr.whisper.word_split import split_words
from murmur_cli.asr.window_time import WindowTime
from murmur_cli.asr.within_speech import within_speech
from murmur_cli.engine.request import Finished, StopReason
from murmur_cli.types import Flag, SampleSpan, TimeSpan, Word, join_words

BEYOND_S = 0.5
"""A stretch that starts this long after the audio was not heard there: timestamps are off by
tenths of a second, and the encoder sees silence up to 30 s."""


@dataclass(frozen=True, slots=True)
class HeardStretch:
    """Words between two timestamps of the model, the time that they claim, what to know."""

    words: tuple[Word, ...]
    span: TimeSpan
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowOutput:
    """What one request gave.

    Attributes:
        stretches: text in order.
        reached_s: time in the window up to which the text answers for the audio.
        stop: why the row ended.
        evidence: what speaks for and against the text.
        flags: of the whole answer.
        echoes: text that repeats the one before it at a time after the audio; left out.
        is_spoken_repetition: whether the audio bears out most of a repetition.
    """

    stretches: tuple[HeardStretch, ...]
    reached_s: float
    stop: StopReason
    evidence: Evidence
    flags: tuple[Flag, ...]
    echoes: tuple[HeardStretch, ...] = ()
    is_spoken_repetition: bool = False

    @property
    def num_words(self) -> int:
        """Words of all stretches."""
        return sum(len(stretch.words) for stretch in self.stretches)

    @property
    def text(self) -> str:
        """Words of all stretches."""
        return join_words([word for stretch in self.stretches for word in stretch.words])


def read_output(
    finished: Finished,
    time: WindowTime,
    speech: tuple[SampleSpan, ...],
    tokens: WhisperTokens,
    language: str | None,
) -> WindowOutput:
    """Words with times, cut at a repetition; `speech` (recording samples) bounds the words."""
    starts_s = np.zeros(len(finished.tokens) + 1)
    if finished.attention is not None and finished.tokens:
        starts_s = token_starts_s(finished.attention, time.duration_s)
    kept = finished.tokens
    cut: Cut | None = None
    if finished.loop is not None:
        attention = finished.attention
        assert attention is not None, "Whisper's adapter records its alignment heads"
        cut = cut_repetition(kept, finished.logprobs, finished.loop, attention, starts_s, tokens)
        kept = kept[: cut.num_tokens]
    stretches = list(split_by_timestamps(kept, tokens))
    flags: list[Flag] = []
    if finished.stop is StopReason.LOOP:
        flags.append(Flag.LOOP)
    elif finished.stop in (StopReason.LENGTH, StopReason.CEILING):
        flags.append(Flag.LENGTH_LIMIT)
        if stretches and stretches[-1].end_s is None:
            _drop_unfinished(stretches, kept, tokens, language)
    evidence = _evidence(finished, tokens)
    reached_s = _reached_s(finished, stretches, starts_s, time.duration_s)
    if cut is not None and stretches:
        reached_s = max(min(reached_s, cut.latest_s), stretches[-1].start_s)
    heard: list[HeardStretch] = []
    echoes: list[HeardStretch] = []
    for stretch in stretches:
        words = _words(finished, stretch, starts_s, reached_s, time, speech, tokens, language)
        if not words:
            continue
        is_beyond = stretch.start_s > time.duration_s + BEYOND_S
        span = time.to_recording(stretch.start_s, _end_s(stretch, reached_s))
        beyond = (Flag.TIME_OUT_OF_RANGE,) if is_beyond else ()
        spoken = HeardStretch(words, span, evidence.flags + beyond)
        is_echo = is_beyond and heard and _same_text(spoken, heard[-1])
        (echoes if is_echo else heard).append(spoken)
    flags.extend(dict.fromkeys(flag for stretch in heard for flag in stretch.flags))
    return WindowOutput(
        tuple(heard),
        reached_s,
        finished.stop,
        evidence,
        tuple(flags),
        tuple(echoes),
        cut is not None and cut.is_spoken,
    )


def _evidence(finished: Finished, tokens: WhisperTokens) -> Evidence:
    end = len(finished.logprobs)
    if finished.loop is not None:
        # What repeats is all but certain and compresses well, spoken or not.
        end = finished.loop.start + finished.loop.period
    text = tokens.decode(
        [token for token in finished.tokens[:end] if not tokens.is_timestamp(token)]
    )
    mean_logprob = float(np.mean(finished.logprobs[:end])) if end else 0.0
    return Evidence(text, mean_logprob, finished.no_speech_probability)


def _same_text(one: HeardStretch, other: HeardStretch) -> bool:
    return [word.text for word in one.words] == [word.text for word in other.words]


def _drop_unfinished(
    stretches: list[TimedText],
    output: tuple[int, ...],
    tokens: WhisperTokens,
    language: str | None,
) -> None:
    """Leave out, in place, what the request for the rest will decode again.

    That is the last stretch where there are others; the only stretch loses its last word,
    which may be cut in the middle.
    """
    last = stretches.pop()
    if stretches:
        return
    words = split_words([output[place] for place in last.places], tokens, language)
    cut = words[-1].places[0] if words else 0
    if cut:
        stretches.append(TimedText(last.start_s, None, last.places[:cut]))


def _end_s(stretch: TimedText, reached_s: float) -> float:
    end_s = stretch.end_s if stretch.end_s is not None else reached_s
    return max(end_s, stretch.start_s)


def _reached_s(
    finished: Finished,
    stretches: list[TimedText],
    starts_s: npt.NDArray[np.float64],
    audio_s: float,
) -> float:
    """Where the text ends; a pause that the model claims after it is not text."""
    if not stretches:
        return 0.0
    last = stretches[-1]
    if last.end_s is not None:
        return min(last.end_s, audio_s)
    if finished.stop is StopReason.END:
        return audio_s
    # Cut inside a stretch: it reaches to where the next token was heard.
    return float(min(max(starts_s[last.places[-1] + 1], last.start_s), audio_s))


def _words(
    finished: Finished,
    stretch: TimedText,
    starts_s: npt.NDArray[np.float64],
    reached_s: float,
    time: WindowTime,
    speech: tuple[SampleSpan, ...],
    tokens: WhisperTokens,
    language: str | None,
) -> tuple[Word, ...]:
    end_s = _end_s(stretch, reached_s)
    words = []
    text_tokens = [finished.tokens[place] for place in stretch.places]
    for token_word in split_words(text_tokens, tokens, language):
        places = [stretch.places[index] for index in token_word.places]
        first_s = min(max(starts_s[places[0]], stretch.start_s), end_s)
        last_s = min(max(starts_s[places[-1] + 1], first_s), end_s)
        span = within_speech(time.to_recording(float(first_s), float(last_s)), speech)
        probability = float(np.mean([np.exp(finished.logprobs[place]) for place in places]))
        words.append(Word(token_word.text, span, token_word.space_before, min(probability, 1.0)))
    return tuple(words)
