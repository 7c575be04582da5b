"""Words, segments and what a recogniser reports of a chunk."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from murmur_cli.types.spans import TimeSpan


class Flag(StrEnum):
    """What a reader of a chunk or segment should know about it."""

    LOOP = "loop"
    """The decoder repeated itself; the repetition was cut."""
    LOW_CONFIDENCE = "low_confidence"
    """Mean log-probability of the text is below the model's usual range."""
    REPETITIVE = "repetitive"
    """The text repeats itself more than speech does, in every try; it was kept."""
    TIME_OUT_OF_RANGE = "time_out_of_range"
    """The model gave a time outside the audio; it was clamped."""
    INCOMPLETE = "incomplete"
    """Speech is left that the model did not transcribe."""
    LENGTH_LIMIT = "length_limit"
    """Decoding stopped at the limit of tokens."""
    SPEECH_RATE = "speech_rate"
    """Far more or far fewer words than so much speech holds; it was asked about again."""
    NO_SPEECH = "no_speech"
    """The model itself says that this is not speech."""
    REJECTED = "rejected"
    """Text was left out of the transcript as implausible; it is kept in the JSON."""


class WordTimes(StrEnum):
    """How the words of a chunk got their times."""

    ATTENTION = "attention"
    """From where the decoder attends to the audio."""
    SPREAD = "spread"
    """Spread over the speech of the segment by their letters."""
    MODEL = "model"
    """The recogniser itself wrote when the word was said, a segment of one word."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word as spoken.

    `space_before` is False where the script sets no space (Chinese, Japanese, a split word).
    `probability` is the mean probability of its tokens, in [0, 1].
    `speaker` is a global label, None if unknown.
    """

    text: str
    span: TimeSpan
    space_before: bool = True
    probability: float | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive words of one speaker.

    `local_speaker` is the number that the recogniser itself gave the speaker, None if it gives
    none; unique in its chunk. `part` counts the answers that a chunk needed: only numbers of one
    part are known to be different people. `word_times`: how its words got their times.
    """

    span: TimeSpan
    words: tuple[Word, ...]
    chunk_index: int
    language: str | None = None
    speaker: str | None = None
    flags: tuple[Flag, ...] = ()
    local_speaker: int | None = None
    part: int = 0
    word_times: WordTimes = WordTimes.ATTENTION

    @property
    def text(self) -> str:
        """The words joined with the spaces they had."""
        return join_words(self.words)


def join_words(words: tuple[Word, ...] | list[Word]) -> str:
    """Text of words, with a space where the script has one; none at the start."""
    parts: list[str] = []
    for word in words:
        if parts and word.space_before:
            parts.append(" ")
        parts.append(word.text)
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class KvUsage:
    """KV entries read by decode steps, summed over steps and rows, of one layer and head.

    Attributes:
        steps: row-steps (one token of one row).
        speech_entries_read: entries of the speech region read; where a policy chooses for each
            layer and head, the mean, in which a summary counts as one entry.
        speech_entries_held: entries of the speech region that full attention would read.
        output_entries_read: entries of prompt and output read.
        output_entries_held: entries of prompt and output that full attention would read.
        bytes_read: bytes of keys and values read, over all layers and heads.
    """

    steps: int = 0
    speech_entries_read: int = 0
    speech_entries_held: int = 0
    output_entries_read: int = 0
    output_entries_held: int = 0
    bytes_read: int = 0

    def __add__(self, other: KvUsage) -> KvUsage:
        return KvUsage(
            self.steps + other.steps,
            self.speech_entries_read + other.speech_entries_read,
            self.speech_entries_held + other.speech_entries_held,
            self.output_entries_read + other.output_entries_read,
            self.output_entries_held + other.output_entries_held,
            self.bytes_read + other.bytes_read,
        )


@dataclass(frozen=True, slots=True)
class RejectedText:
    """Text that the recogniser produced and the transcript leaves out, with the reason."""

    span: TimeSpan
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChunkTranscript:
    """What the recogniser made of one chunk. Words are in time order, without speakers.

    `model` and `policy` name the recogniser and the KV policy that this chunk was decoded with.
    `loops` counts the repetitions that were cut. `word_times` says how most words got their times.
    """

    chunk_index: int
    segments: tuple[Segment, ...]
    language: str | None
    requests: int
    tokens: int
    flags: tuple[Flag, ...]
    kv: KvUsage
    rejected: tuple[RejectedText, ...] = ()
    untranscribed: tuple[TimeSpan, ...] = ()
    mean_logprob: float | None = None
    model: str | None = None
    policy: str | None = None
    loops: int = 0
    word_times: WordTimes = WordTimes.ATTENTION
