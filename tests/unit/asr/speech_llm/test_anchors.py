"""Anchors: runs of sure words, where they lie in what is asked about, windows for a Whisper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from murmur_cli.asr.base import Job, Recognised, Recognition
from murmur_cli.asr.speech_llm.anchors import (
    Anchor,
    AnchorRecogniser,
    sure_runs,
    within_pieces,
)
from murmur_cli.progress import ProgressHook
from murmur_cli.types import Chunk, PackingRule, SampleSpan, Segment, TimeSpan, Window, Word
from support.factories import make_chunk_transcript
from support.fake_stages import IDENTITY

RATE = 16_000


def segment(*words: tuple[str, float, float, float | None]) -> Segment:
    """Words with start, end and probability."""
    made = tuple(Word(text, TimeSpan(a, b), True, p) for text, a, b, p in words)
    return Segment(TimeSpan(made[0].span.start_s, made[-1].span.end_s), made, 0)


def test_runs_when_a_word_is_doubtful_then_it_parts_them() -> None:
    spoken = segment(
        ("so", 0.0, 0.25, 0.9), ("we", 0.25, 0.5, 0.31), ("mumble", 0.5, 1.0, 0.3),
        ("agreed", 1.0, 1.5, 0.8), ("hm", 1.5, 2.0, None),
    )  # fmt: skip
    assert list(sure_runs(spoken, 0.3)) == [
        Anchor(SampleSpan(0, RATE // 2), "so we"),
        Anchor(SampleSpan(RATE, RATE * 3 // 2), "agreed"),
    ]


def test_anchors_when_pieces_are_joined_then_samples_count_in_them() -> None:
    pieces = (SampleSpan(100, 200), SampleSpan(300, 500))
    anchors = [
        Anchor(SampleSpan(100, 150), "in the first"),
        Anchor(SampleSpan(150, 320), "cut by an edge"),
        Anchor(SampleSpan(310, 490), "in the second"),
        Anchor(SampleSpan(600, 700), "elsewhere"),
    ]
    assert list(within_pieces(anchors, pieces)) == [
        (0, 50, "in the first"),
        (110, 290, "in the second"),
    ]


@dataclass
class Says:
    """A backend that says the same in every chunk, or fails."""

    segments: Sequence[Segment]
    packing: PackingRule | None = None
    failure: Exception | None = None
    heard: list[Chunk] = field(default_factory=list)
    open_sessions: int = 0
    identity = IDENTITY
    precision = "exact"
    names_speakers = False

    def open_session(self, progress: ProgressHook) -> Says:
        self.open_sessions += 1
        return self

    def submit(self, job: Job, *, more_follow: bool) -> None:
        self.heard = list(job.chunks)
        self.busy = True

    wants_more = False

    def step(self) -> list[Recognised]:
        self.busy = False
        made = [make_chunk_transcript(list(self.segments), chunk.index) for chunk in self.heard]
        return [Recognised("talk", self.failure or Recognition(tuple(made), "en"))]

    def close(self) -> None:
        self.open_sessions -= 1


def job(*spans: tuple[int, int]) -> Job:
    """One chunk with speech at these seconds."""
    speech = tuple(SampleSpan(a * RATE, b * RATE) for a, b in spans)
    whole = SampleSpan(speech[0].start, speech[-1].end)
    samples = np.zeros(whole.end, np.float32)
    return Job("talk", samples, [Chunk(3, whole, (Window(whole, speech, (whole,)),))])


def test_recogniser_when_it_takes_short_windows_then_speech_is_packed_into_them() -> None:
    rule = PackingRule(max_window_s=30.0, max_span_s=60.0, max_gap_s=1.0)
    backend = Says([segment(("yes", 1.0, 2.0, 0.9))], rule)
    found = AnchorRecogniser(backend, 0.3).anchors(job((0, 20), (21, 29), (40, 75)))
    assert found == {3: (Anchor(SampleSpan(RATE, 2 * RATE), "yes"),)}
    (chunk,) = backend.heard
    seconds = [(w.span.start // RATE, w.span.end // RATE) for w in chunk.windows]
    assert seconds == [(0, 29), (40, 70), (70, 75)]
    assert chunk.speech == (
        SampleSpan(0, 20 * RATE),
        SampleSpan(21 * RATE, 29 * RATE),
        SampleSpan(40 * RATE, 70 * RATE),
        SampleSpan(70 * RATE, 75 * RATE),
    )
    assert backend.open_sessions == 0


def test_recogniser_when_it_fails_then_the_recording_does() -> None:
    backend = Says([], failure=RuntimeError("a fault"))
    with pytest.raises(RuntimeError, match="a fault"):
        AnchorRecogniser(backend, 0.3).anchors(job((0, 5)))
    assert backend.open_sessions == 0
