"""A Whisper that knows what was said, word for word, and runs away where it is told to.

Its vocabulary is whole words, so that a token takes as long as a word does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models

from murmur_cli.asr.whisper.decoder import WindowSource
from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.asr.window_time import WindowTime
from murmur_cli.engine.model_adapter import EntryBytes, PrefillOutput, StepOutput, StepRow
from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.types import SampleSpan

ENTRIES = 1500
SURE = 50.0
LONGEST_SCRIPT = 2000


@dataclass(frozen=True)
class Said:
    """One word and when it was said, seconds of the recording."""

    text: str
    start_s: float
    end_s: float


def speech(words: Iterable[str], start_s: float, word_s: float) -> list[Said]:
    """Words said one after the other, each as long."""
    return [
        Said(word, start_s + place * word_s, start_s + (place + 1) * word_s)
        for place, word in enumerate(words)
    ]


@dataclass(frozen=True)
class Runaway:
    """From `at_s` of the recording on, a request does not hear any more.

    Attributes:
        at_s: where the decoder loses the audio.
        occurrence: words of the n-th occurrence that it then says.
        until_s: requests that begin from here on hear well; None: all that begin after `at_s`.
        is_timed: whether each occurrence stands between timestamps, a step after the last.
    """

    at_s: float
    occurrence: Callable[[int], list[str]]
    until_s: float | None = None
    is_timed: bool = False


def word_tokens(words: Iterable[str]) -> WhisperTokens:
    """Whisper's tokens over a vocabulary of whole words, each with its space before it."""
    vocabulary = [f"Ġ{word}" for word in dict.fromkeys(words)]
    tokenizer = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(vocabulary)}, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    names = ["end", "start", "en", "translate", "transcribe", "nospeech", "notimestamps"]
    names += [f"{step * 0.02:.2f}" for step in range(ENTRIES + 1)]
    tokenizer.add_special_tokens([AddedToken(f"<|{name}|>", special=True) for name in names])
    end, start, english, translate, transcribe, no_speech, no_times = range(
        len(vocabulary), len(vocabulary) + 7
    )
    return WhisperTokens(
        start=start,
        end=end,
        no_speech=no_speech,
        timestamp_begin=no_times + 1,
        languages={"en": english},
        tasks={"translate": translate, "transcribe": transcribe},
        suppressed=tuple(range(start, no_times + 1)),
        max_initial_timestamp=ENTRIES,
        alignment_heads=((0, 0),),
        tokenizer=tokenizer,
    )


@dataclass
class SpokenScript:
    """A DecoderAdapter for `said`, with one or no runaway."""

    tokens: WhisperTokens
    said: list[Said]
    runaway: Runaway | None = None
    asked: list[tuple[SampleSpan, ...]] = field(default_factory=list)
    max_entries: int = LONGEST_SCRIPT
    prepared_bytes: int = 1000
    _rows: dict[int, list[tuple[int, float]]] = field(default_factory=dict)

    @property
    def end_tokens(self) -> frozenset[int]:
        return frozenset({self.tokens.end})

    @property
    def greedy_steps(self) -> None:
        return None

    def planned_bytes(
        self, slots: int, own_entries: int, retrieval: RetrievalRule | None = None
    ) -> int:
        return slots * own_entries

    def free_bytes(self) -> int | None:
        return None

    def open(
        self,
        slots: int,
        own_entries: int,
        bound: OutputBound | None,
        retrieval: RetrievalRule | None = None,
    ) -> None:
        self._rows = {}

    def close(self) -> None:
        self._rows = {}

    def prepare(self, source: WindowSource) -> WindowSource:
        return source

    @property
    def entry_bytes(self) -> EntryBytes:
        return EntryBytes(8, 8)

    def load(self, slots: Sequence[int], sources: Sequence[WindowSource]) -> tuple[int, ...]:
        for slot, source in zip(slots, sources, strict=True):
            self.asked.append(source.pieces)
            self._rows[slot] = self._script(source.pieces)
        return (ENTRIES,) * len(slots)

    def prefill(
        self,
        slots: Sequence[int],
        prompts: Sequence[tuple[int, ...]],
        suffixes: Sequence[tuple[int, ...]],
    ) -> PrefillOutput:
        logits, attention = self._answer([(slot, 0) for slot in slots])
        return PrefillOutput(logits, (0.0,) * len(slots), attention)

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        return StepOutput(*self._answer([(row.slot, row.output_entries) for row in rows]))

    def _answer(self, places: list[tuple[int, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        logits = torch.zeros(len(places), self.tokens.timestamp_begin + ENTRIES + 1)
        attention = torch.zeros(len(places), 1, ENTRIES)
        for row, (slot, place) in enumerate(places):
            token, heard_s = self._rows[slot][place]
            logits[row, token] = SURE
            entry = min(round(heard_s * 50), ENTRIES - 1)
            attention[row, 0, entry : entry + 5] = 0.2
        return logits, attention

    def _script(self, pieces: tuple[SampleSpan, ...]) -> list[tuple[int, float]]:
        """Tokens with the second of the window that each attends to."""
        time = WindowTime(pieces)
        heard = [
            (word, at_s)
            for word in self.said
            if (at_s := _window_s(pieces, word.start_s)) is not None
        ]
        lost = self._lost_at(pieces)
        script: list[tuple[int, float]] = []
        before = [(w, s) for w, s in heard if lost is None or w.start_s < lost]
        if before or lost is not None:
            script.append((self._time(before[0][1] if before else 0.0), 0.0))
        script.extend((self._word(word.text), at_s) for word, at_s in before)
        if lost is not None:
            assert self.runaway is not None
            script.extend(self._lost(self.runaway, _window_s(pieces, lost) or 0.0))
        elif before:
            word, at_s = before[-1]
            end_s = min(at_s + word.end_s - word.start_s, time.duration_s)
            script.append((self._time(end_s), end_s))
        script.append((self.tokens.end, time.duration_s))
        return script

    def _lost_at(self, pieces: tuple[SampleSpan, ...]) -> float | None:
        """Second of the recording from which a request for these pieces runs away."""
        runs = self.runaway
        begin_s, end_s = pieces[0].time.start_s, pieces[-1].time.end_s
        if runs is None or begin_s >= (runs.until_s or runs.at_s) or end_s <= runs.at_s:
            return None
        return max(begin_s, runs.at_s)

    def _lost(self, runs: Runaway, lost_s: float) -> list[tuple[int, float]]:
        script: list[tuple[int, float]] = []
        number = 0
        while len(script) < LONGEST_SCRIPT - 200:
            words = [(self._word(word), lost_s) for word in runs.occurrence(number)]
            script += words
            if runs.is_timed:
                step_s = lost_s + 0.1 * (number + 1)
                script += [(self._time(step_s), lost_s)] * 2
            number += 1
        return script

    def _word(self, text: str) -> int:
        token = self.tokens.tokenizer.token_to_id(f"Ġ{text}")
        assert token is not None, text
        return int(token)

    def _time(self, window_s: float) -> int:
        return self.tokens.timestamp_begin + min(round(window_s * 50), ENTRIES)


def _window_s(pieces: tuple[SampleSpan, ...], recording_s: float) -> float | None:
    """Second of the window for a time of the recording; None outside its pieces."""
    passed_s = 0.0
    for piece in pieces:
        time = piece.time
        # The rest of a cut begins a few hundredths after a word has, at most.
        if time.start_s - 0.05 <= recording_s < time.end_s:
            return passed_s + max(recording_s - time.start_s, 0.0)
        passed_s += time.duration_s
    return None


def silent_samples(end_s: float) -> np.ndarray:
    """Samples for a task; the script does not listen to them."""
    return np.zeros(round(end_s * 16_000), np.float32)
