"""The records that travel between the stages: small, frozen, without behaviour of a stage.

Times inside are integer samples at 16 kHz (`SampleSpan`); seconds (`TimeSpan`) appear where a
model or a file format speaks in seconds. All times count from the start of the recording.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from murmur_cli.timebase import to_seconds

Samples = npt.NDArray[np.float32]
"""Mono audio, shape (samples,), float32 in [-1, 1], 16 kHz."""

Embedding = npt.NDArray[np.float32]
"""Speaker embedding, shape (dimension,), unit length."""


@dataclass(frozen=True, slots=True, order=True)
class SampleSpan:
    """Half-open range of samples at 16 kHz; never empty."""

    start: int
    end: int

    def __post_init__(self) -> None:
        assert 0 <= self.start < self.end, (self.start, self.end)

    @property
    def length(self) -> int:
        """Number of samples."""
        return self.end - self.start

    @property
    def time(self) -> TimeSpan:
        """The same range in seconds."""
        return TimeSpan(to_seconds(self.start), to_seconds(self.end))


@dataclass(frozen=True, slots=True, order=True)
class TimeSpan:
    """Range of time in seconds; start <= end."""

    start_s: float
    end_s: float

    def __post_init__(self) -> None:
        assert self.start_s <= self.end_s, (self.start_s, self.end_s)

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.end_s - self.start_s

    @property
    def middle_s(self) -> float:
        """Midpoint in seconds."""
        return (self.start_s + self.end_s) / 2

    def overlap_s(self, other: TimeSpan) -> float:
        """Seconds common to both; 0.0 if they do not meet."""
        return max(0.0, min(self.end_s, other.end_s) - max(self.start_s, other.start_s))

    def gap_s(self, other: TimeSpan) -> float:
        """Seconds between the two; 0.0 if they meet or overlap."""
        return max(0.0, self.start_s - other.end_s, other.start_s - self.end_s)


# --- audio ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AudioFacts:
    """What is known of an input file.

    Attributes:
        path: the file as the user named it.
        sha256: of the file's bytes, hex.
        decoder: 'soundfile' or 'pyav'.
        container: container or file format as the decoder names it.
        codec: codec or subtype as the decoder names it.
        sample_rate_hz: rate before resampling.
        channels: channels before the mono mix.
        mix: how mono came about: 'mono', 'mean', 'left', 'right', 'channel N', 'largest energy'.
        declared_duration_s: what the header says; None if it says nothing.
        duration_s: what was decoded.
        peak_dbfs, rms_dbfs: level of the mono signal; None for digital silence.
    """

    path: Path
    sha256: str
    decoder: str
    container: str
    codec: str
    sample_rate_hz: int
    channels: int
    mix: str
    declared_duration_s: float | None
    duration_s: float
    peak_dbfs: float | None
    rms_dbfs: float | None


@dataclass(frozen=True, slots=True)
class Recording:
    """One decoded input. `truncated` marks a file that ends before its header says."""

    session_id: str
    samples: Samples
    facts: AudioFacts
    truncated: bool = False
    warnings: tuple[str, ...] = ()


# --- chunks --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PackingRule:
    """How speech is packed into the short windows that a recogniser takes.

    Attributes:
        max_window_s: most audio in one window (its pieces together).
        max_span_s: most recording time from the first to the last piece.
        max_gap_s: a silence between two speech spans keeps at most this much of itself;
            the rest is left out of the window's audio.
    """

    max_window_s: float
    max_span_s: float
    max_gap_s: float


@dataclass(frozen=True, slots=True)
class Window:
    """What a recogniser decodes in one request.

    `speech` is the speech it answers for. `pieces` is the audio it hears, joined in order:
    the speech with the silences around it, shortened by `PackingRule.max_gap_s`. `span` runs
    from the first to the last sample of `pieces`.
    """

    span: SampleSpan
    speech: tuple[SampleSpan, ...]
    pieces: tuple[SampleSpan, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of the recording, at most `--chunk` seconds, made of whole windows."""

    index: int
    span: SampleSpan
    windows: tuple[Window, ...]

    @property
    def speech(self) -> tuple[SampleSpan, ...]:
        """The speech of all windows, in order."""
        return tuple(span for window in self.windows for span in window.speech)


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """Chunks in order; `rule` says in one line how their size came about."""

    chunks: tuple[Chunk, ...]
    max_chunk_s: float
    rule: str


# --- recognition ---------------------------------------------------------------------------


class Flag(StrEnum):
    """What a reader of a chunk or segment should know about it."""

    LOOP = "loop"
    """The decoder repeated itself; the repetition was cut."""
    LOW_CONFIDENCE = "low_confidence"
    """Mean log-probability of the text is below the model's usual range."""
    TIME_OUT_OF_RANGE = "time_out_of_range"
    """The model gave a time outside the audio; it was clamped."""
    INCOMPLETE = "incomplete"
    """Speech is left that the model did not transcribe."""
    LENGTH_LIMIT = "length_limit"
    """Decoding stopped at the limit of tokens."""
    NO_SPEECH = "no_speech"
    """The model itself says that this is not speech."""
    REJECTED = "rejected"
    """Text was left out of the transcript as implausible; it is kept in the JSON."""


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
    """Consecutive words of one speaker."""

    span: TimeSpan
    words: tuple[Word, ...]
    chunk_index: int
    language: str | None = None
    speaker: str | None = None
    flags: tuple[Flag, ...] = ()

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
        speech_entries_read: entries of the speech region read.
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


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which weights produced a result."""

    name: str
    source: str
    sha256: str
    licence: str


# --- speakers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class LocalTurn:
    """A local speaker of one chunk talks; turns of different speakers may overlap."""

    span: TimeSpan
    local_speaker: int


@dataclass(frozen=True, slots=True)
class LocalSpeaker:
    """A voice found inside one chunk.

    `clean_s` counts seconds where it alone speaks, from which `embedding` was taken;
    `embedding` is None when there was too little clean speech.
    """

    chunk_index: int
    local_speaker: int
    clean_s: float
    embedding: Embedding | None


@dataclass(frozen=True, slots=True)
class ChunkDiarization:
    """Local turns and voices of one chunk."""

    chunk_index: int
    turns: tuple[LocalTurn, ...]
    speakers: tuple[LocalSpeaker, ...]


@dataclass(frozen=True, slots=True, order=True)
class SpeakerTurn:
    """A global speaker talks."""

    span: TimeSpan
    speaker: str


@dataclass(frozen=True, slots=True)
class StitchDecision:
    """Why a local speaker got its global label. Similarities are cosines in [-1, 1].

    `similarity` compares with the rest of its own cluster (None if alone), `runner_up` names
    the best other speaker (None if there is none).
    """

    chunk_index: int
    local_speaker: int
    speaker: str
    clean_s: float
    similarity: float | None
    runner_up: str | None
    runner_up_similarity: float | None
    margin: float | None


@dataclass(frozen=True, slots=True)
class SpeakerTimeline:
    """Global turns in time order, the labels in order of first speech, and the evidence."""

    turns: tuple[SpeakerTurn, ...]
    speakers: tuple[str, ...]
    decisions: tuple[StitchDecision, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpeakerHints:
    """What the user said of the number of speakers; None means no hint."""

    exact: int | None = None
    minimum: int | None = None
    maximum: int | None = None


# --- result --------------------------------------------------------------------------------


class Status(StrEnum):
    """Outcome of one recording."""

    OK = "ok"
    EMPTY = "empty"
    """No speech was found; the files are written, empty and valid."""
    PARTIAL = "partial"
    """The file ends before its header says; what is there was transcribed."""


@dataclass(frozen=True, slots=True)
class StageTiming:
    """Wall seconds of one stage."""

    stage: str
    wall_s: float


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is needed to repeat the run."""

    murmur_version: str
    models: tuple[ModelIdentity, ...]
    options: dict[str, Any]
    versions: dict[str, str]
    device: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """The whole result for one recording; what the writers get.

    `segments` and `turns` are sorted by start time and lie within the audio. `speakers` is in
    order of first speech.
    """

    session_id: str
    status: Status
    facts: AudioFacts
    speech_s: float
    language: str | None
    segments: tuple[Segment, ...]
    turns: tuple[SpeakerTurn, ...]
    speakers: tuple[str, ...]
    plan: ChunkPlan
    chunks: tuple[ChunkTranscript, ...]
    decisions: tuple[StitchDecision, ...]
    run: RunRecord
    timings: tuple[StageTiming, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def words(self) -> tuple[Word, ...]:
        """All words, in the order of the segments."""
        return tuple(word for segment in self.segments for word in segment.words)
