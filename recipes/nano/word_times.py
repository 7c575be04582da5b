"""How far the times of words are from when they were said, with the attention and without.

    python -m nano.word_times            # with recipes/ on the path

Held-out meetings go through the recogniser's own session. Times are compared for the words that
the model gets right: those of a model that gives times to its segments, as nano does, and those of
a model that gives none, which is nano with its marks of time left out.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

from murmur_cli.asr.base import Job, Recognition
from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder
from murmur_cli.asr.speech_llm.family import SpokenOutput
from murmur_cli.asr.speech_llm.plain_text import plain_text
from murmur_cli.asr.speech_llm.session import SpeechLlmOptions, SpeechLlmSession
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.progress import SilentProgress
from murmur_cli.types import Chunk, SampleSpan, Window, Word
from nano.decoding import held_out
from nano.family import CHECKPOINT, Nano
from nano.language import FRAMES_PER_S, MAX_FRAMES, language
from nano.meeting import Meeting
from nano.sound import sample_of, sounding

MEETINGS = 3
SLOTS = 4


class UntimedNano(Nano):
    """Nano of whose output only the words are read."""

    traits: ClassVar[SpeechLlmTraits] = replace(
        Nano.traits, label="Nano without times", carries_times=False, carries_speakers=False
    )

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """The words, as one text."""
        return plain_text(self.answer_text(tokens).text, is_cut=is_cut)


@dataclass(frozen=True, slots=True)
class TimeErrors:
    """Distances of the words' starts and ends from the truth, in frames of 1/7.5 s."""

    words: int
    methods: dict[str, int]
    start_median: float
    start_90: float
    end_median: float
    end_90: float


def heard(
    nano: Nano,
    meetings: Sequence[Meeting],
    *,
    watch: bool,
    evict: str = "none",
    options: Mapping[str, str] | None = None,
) -> list[Recognition]:
    """Each meeting as a recording of one chunk, whose speech is where somebody talks."""
    longest_s = max(len(meeting.frames) for meeting in meetings) / FRAMES_PER_S
    policy = build_policy(evict, dict(options or {}), nano.traits.rates(longest_s))
    session = SpeechLlmSession(
        SpeechLlmDecoder(nano, longest_s + 1.0, watch=watch),
        *(nano, "nano", policy),
        SpeechLlmOptions(None, "transcribe", "", SLOTS, longest_s),
        SilentProgress(),
    )
    for number, meeting in enumerate(meetings):
        more = number + 1 < len(meetings)
        job = Job(str(number), sounding(meeting.frames), (_chunk(meeting),))
        session.submit(job, more_follow=more)
    found: dict[str, Recognition] = {}
    while session.busy:
        for done in session.step():
            if isinstance(done.result, Exception):
                raise done.result
            found[done.recording] = done.result
    session.close()
    return [found[str(number)] for number in range(len(meetings))]


def time_errors(meetings: Sequence[Meeting], results: Sequence[Recognition]) -> TimeErrors:
    """Over all words that are right."""
    starts, ends, methods = [], [], dict[str, int]()
    for meeting, result in zip(meetings, results, strict=True):
        for segment in result.chunks[0].segments:
            method = str(segment.word_times)
            methods[method] = methods.get(method, 0) + len(segment.words)
        words = [word for segment in result.chunks[0].segments for word in segment.words]
        for word, (first, end) in _right_words(meeting, words):
            starts.append(abs(word.span.start_s * FRAMES_PER_S - first))
            ends.append(abs(word.span.end_s * FRAMES_PER_S - end))
    quantiles = [*np.quantile(starts, [0.5, 0.9]), *np.quantile(ends, [0.5, 0.9])]
    return TimeErrors(len(starts), methods, *(round(float(value), 2) for value in quantiles))


def _chunk(meeting: Meeting) -> Chunk:
    whole = SampleSpan(0, sample_of(len(meeting.frames)))
    speech = tuple(SampleSpan(sample_of(part.start), sample_of(part.end)) for part in meeting.parts)
    return Chunk(0, whole, (Window(whole, speech, (whole,)),))


def _right_words(meeting: Meeting, words: Sequence[Word]) -> Iterator[tuple[Word, tuple[int, int]]]:
    """Words that stand where they should, with their frames."""
    spans = [span for part in meeting.parts for span in part.spans]
    said = [language().words[word] for part in meeting.parts for word in part.words]
    texts = [word.text for word in words]
    for block in SequenceMatcher(None, said, texts, autojunk=False).get_matching_blocks():
        for step in range(block.size):
            yield words[block.b + step], spans[block.a + step]


def main() -> None:
    """The command."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    arguments.add_argument("--frames", type=int, default=MAX_FRAMES)
    arguments.add_argument("--meetings", type=int, default=MEETINGS)
    arguments.add_argument("--evict", default="none")
    arguments.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    meetings = held_out(chosen.frames, chosen.meetings)
    options = dict(pair.split("=", 1) for pair in chosen.option)
    for kind in (Nano, UntimedNano):
        nano = kind.load(chosen.checkpoint)
        for watch in (True, False):
            begun_s = time.process_time()
            results = heard(nano, meetings, watch=watch, evict=chosen.evict, options=options)
            cpu_s = round(time.process_time() - begun_s, 1)
            errors = time_errors(meetings, results)
            record = {"model": nano.traits.label, "watch": watch, "cpu_s": cpu_s, **asdict(errors)}
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
