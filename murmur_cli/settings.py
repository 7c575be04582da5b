"""Options of one run, checked once, before any model loads."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from murmur_cli.errors import UsageError
from murmur_cli.near_name import did_you_mean
from murmur_cli.types import ChannelMode, SpeakerHints
from murmur_cli.types.audio_kind import ChunkCurve
from murmur_cli.types.kv_shares import KvShares

Choice = TypeVar("Choice", bound=StrEnum)

TASKS = ("transcribe", "translate")
DEFAULT_FORMATS = ("rttm", "srt", "json")
DEFAULT_CHUNK_S = 300.0
DEFAULT_BATCH_SIZE = 16
AUTO_CHUNK_S = 300.0
"""Longest chunk by rule, the published optimum for long-context recognisers: longer chunks lose
words to drifting attention, shorter ones lose context and make more seams."""

FULL_CHUNK_S = 86_400.0
"""'--chunk full': a day, which no recording is longer than."""

DEFAULT_ENROLL_THRESHOLD = 0.5
"""A wrong name is worse than none. Of 5,767 pairs of different people with 2 s of clear speech and
more (meetings, telephone, news, readers) none reached it (.49, 8 kHz news); of 228 pairs of one
person in two stretches 2 % stayed below, and none with 5 s and more. At .4: 0.1 % and 1 %."""

MIN_CHUNK_S = 1.0
RETRY_TEMPERATURE = 0.4
"""Of draws after an answer that repeats itself or does not get on; else decoding is greedy."""

MAX_BATCH_SIZE = 4096
"""More rows than any machine has memory for; beyond it the number is a slip of the finger."""


class Precision(StrEnum):
    """What the recogniser's arithmetic may give up for speed."""

    FLOAT32 = "float32"
    """Nothing: the reference."""
    EXACT = "exact"
    """Digits that do not change the text: 0.5 % of words at most."""
    FAST = "fast"
    """Some words: half a point of word error rate at most."""


class WordTiming(StrEnum):
    """Where a SpeechLLM's words get their times, within those that its output says."""

    AUTO = "auto"
    """From the attention, unless steps run ahead of the host, which watching makes slower."""
    ATTENTION = "attention"
    """From the heads that follow the audio, where some do."""
    SPREAD = "spread"
    """Spread over the speech by their letters."""


class DiarizerKind(StrEnum):
    """What finds the turns inside a chunk."""

    EMBEDDED = "embedded"
    """Weights that come with packages; needs no network."""
    PYANNOTE = "pyannote"
    """pyannote.audio's own pipeline, from the model hub's cache."""


@dataclass(frozen=True, slots=True)
class TranscribeSettings:
    """Settings of `murmur transcribe`.

    Attributes:
        model: 'auto', a catalogue name, a hub id or a folder.
        chunk_s: ceiling of a chunk in seconds; None chooses by rule ('--chunk auto').
        chunk_curves: sizes that sweeps found best, which go before the rule.
        evict: name of the KV eviction policy.
        evict_options: options of the policy, still as text; the policy checks them.
        kv_budget: speech entries per KV head that the policy may read, or a share of them, still
            as text; 'auto' takes `kv_shares` of the model; None leaves it to the policy.
        kv_shares: budgets by head that were measured on models.
        kv_offload: speech keys and values lie in host memory; the device holds what a step reads.
        batch_size: slots of the decode engine.
        language: language code, None to detect.
        task: 'transcribe' or 'translate'.
        context: names and terms that may be spoken, for models that take some.
        precision: 'float32', 'exact' or 'fast': what the arithmetic may give up.
        word_times: where a SpeechLLM's words get their times; Whisper's are from the attention.
        recognise: False finds speakers only; options of recognition then mean nothing.
        diarize: False leaves speakers unknown.
        diarizer: what finds turns where the recogniser does not tell them.
        exclusive: at any time at most one speaker has the turn.
        hints: number of speakers as far as the user knows.
        enroll_threshold: least similarity at which a speaker gets the name of a known voice.
        channels: 'mix', 'split' or 'auto': whether channels are recordings of their own.
        device: 'auto', 'cpu' or 'cuda[:N]'.
        temperature: of draws after an answer that repeats itself or does not get on.
        devices: one worker for each, over one queue; empty for `device` alone.
        formats: output formats in order.
        output_dir: None writes beside each input.
        to_stdout: the one format goes to standard output.
        recursive: folders are searched below their first level.
        track: audio track of a container to use, counted from 0; None takes the first.
        allow_partial: a truncated file does not count as failed.
    """

    model: str = "auto"
    chunk_s: float | None = DEFAULT_CHUNK_S
    chunk_curves: tuple[ChunkCurve, ...] = ()
    evict: str = "none"
    evict_options: dict[str, str] = field(default_factory=dict)
    kv_budget: str | None = None
    kv_shares: tuple[KvShares, ...] = ()
    kv_offload: bool = False
    batch_size: int = DEFAULT_BATCH_SIZE
    language: str | None = None
    task: str = "transcribe"
    context: str = ""
    precision: Precision = Precision.EXACT
    word_times: WordTiming = WordTiming.AUTO
    recognise: bool = True
    diarize: bool = True
    diarizer: DiarizerKind = DiarizerKind.EMBEDDED
    exclusive: bool = False
    hints: SpeakerHints = field(default_factory=SpeakerHints)
    enroll_threshold: float = DEFAULT_ENROLL_THRESHOLD
    channels: ChannelMode = ChannelMode.AUTO
    device: str = "auto"
    devices: tuple[str, ...] = ()
    temperature: float = RETRY_TEMPERATURE
    formats: tuple[str, ...] = DEFAULT_FORMATS
    output_dir: Path | None = None
    to_stdout: bool = False
    recursive: bool = False
    track: int | None = None
    allow_partial: bool = False

    @property
    def longest_chunk_s(self) -> float:
        """Ceiling of the chunks in seconds; the longest that may be chosen if it is left open."""
        if self.chunk_s is not None:
            return self.chunk_s
        measured = (curve.chunk_s or FULL_CHUNK_S for curve in self.chunk_curves)
        return max(AUTO_CHUNK_S, *measured, 0.0)

    @property
    def policy_options(self) -> dict[str, str]:
        """Options of the policy with its budget among them."""
        if self.kv_budget is None:
            return self.evict_options
        return {**self.evict_options, "budget": self.kv_budget}

    def __post_init__(self) -> None:
        if self.kv_budget is not None and "budget" in self.evict_options:
            raise UsageError("--kv-budget and --evict-opt budget: give one of them")
        if self.chunk_s is not None and not MIN_CHUNK_S <= self.chunk_s < math.inf:
            raise UsageError(
                f"--chunk {self.chunk_s:g}: give at least {MIN_CHUNK_S:g} seconds, or 'auto'"
            )
        if not 0 <= self.temperature <= 2:
            raise UsageError(f"--temperature {self.temperature:g}: give 0 to 2")
        if not 1 <= self.batch_size <= MAX_BATCH_SIZE:
            raise UsageError(f"--batch-size {self.batch_size}: give 1 to {MAX_BATCH_SIZE}")
        if self.language is not None and not self.language.strip():
            raise UsageError("--language is empty: give a code such as en, or leave it out")
        if self.task not in TASKS:
            hint = did_you_mean(self.task, TASKS)
            raise UsageError(f"--task {self.task}: known tasks are {', '.join(TASKS)}{hint}")
        if self.devices and self.device != "auto":
            raise UsageError("--device and --devices: give one of them")
        if not 0 < self.enroll_threshold <= 1:
            raise UsageError(
                f"--enroll-threshold {self.enroll_threshold:g}: give more than 0, at most 1"
            )
        check_hints(self.hints)
        if not self.diarize and self.hints != SpeakerHints():
            raise UsageError("counts of speakers help to find them; do not give --no-diarize, too")
        if not self.diarize and self.diarizer is not DiarizerKind.EMBEDDED:
            raise UsageError(
                f"--diarizer {self.diarizer} finds speakers; do not give --no-diarize with it"
            )


def parse_channels(text: str) -> ChannelMode:
    """The mode of that name.

    Raises:
        UsageError: there is none.
    """
    return _named(ChannelMode, "--channels", text)


def parse_diarizer(text: str) -> DiarizerKind:
    """The diarizer of that name.

    Raises:
        UsageError: there is none.
    """
    return _named(DiarizerKind, "--diarizer", text)


def parse_word_times(text: str) -> WordTiming:
    """The source of that name.

    Raises:
        UsageError: there is none.
    """
    return _named(WordTiming, "--word-times", text)


def parse_precision(text: str) -> Precision:
    """The precision of that name.

    Raises:
        UsageError: there is none.
    """
    return _named(Precision, "--precision", text)


def _named(kind: type[Choice], option: str, text: str) -> Choice:
    try:
        return kind(text)
    except ValueError:
        hint = did_you_mean(text, kind)
        raise UsageError(f"{option} {text}: known are {', '.join(kind)}{hint}") from None


def check_hints(hints: SpeakerHints) -> None:
    """Reject counts of speakers that cannot be meant.

    Raises:
        UsageError: a count below 1, min above max, or an exact count beside a range.
    """
    for name, value in (
        ("--speakers", hints.exact),
        ("--min-speakers", hints.minimum),
        ("--max-speakers", hints.maximum),
    ):
        if value is not None and value < 1:
            raise UsageError(f"{name} {value}: give 1 or more")
    if hints.exact is not None and (hints.minimum is not None or hints.maximum is not None):
        raise UsageError(
            "--speakers is exact; do not give --min-speakers or --max-speakers with it"
        )
    if hints.minimum is not None and hints.maximum is not None and hints.minimum > hints.maximum:
        raise UsageError(
            f"--min-speakers {hints.minimum} is more than --max-speakers {hints.maximum}"
        )
