"""Recordings that share the engine, on a random Whisper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from murmur_cli.asr.base import Job, Recognition
from murmur_cli.asr.whisper import session as session_module
from murmur_cli.asr.whisper.decoder import PreparedWindow, WhisperDecoder, WindowSource
from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.asr.whisper.session import WhisperOptions, WhisperSession
from murmur_cli.asr.whisper.window_task import WindowTask
from murmur_cli.engine.model_adapter import StepOutput, StepRow
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.progress import SilentProgress
from murmur_cli.types import Chunk, Samples, SampleSpan, Window
from support.tiny_whisper import chirp, tiny_tokens, tiny_whisper

RATE = 16_000


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def note(self, message: str, *, level: str = "info") -> None:
        self.notes.append((level, message))


class FaultyDecoder(WhisperDecoder):
    """Notes the audio that it prepares and the slots that it loads; `faults` are raised at the
    steps of that number; audio shorter than a tenth of a second cannot be read."""

    def __init__(self, model: Any, *, encodes_ahead: bool = False) -> None:
        super().__init__(model, tiny_tokens(), encodes_ahead=encodes_ahead)
        self.faults: dict[int, Exception] = {}
        self.steps = 0
        self.loaded: list[PreparedWindow] = []

    def prepare(self, source: WindowSource) -> PreparedWindow:
        if len(source.audio) < RATE // 10:
            raise OSError("the recording is gone")
        return super().prepare(source)

    def load(self, slots: Sequence[int], sources: Sequence[PreparedWindow]) -> tuple[int, ...]:
        self.loaded.extend(sources)
        return super().load(slots, sources)

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        self.steps += 1
        if self.steps in self.faults:
            raise self.faults[self.steps]
        return super().step(rows)


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_whisper(seed=1)


def job(name: str, seeds: Sequence[int], durations_s: Sequence[float]) -> Job:
    """A recording of chirps of 2 s, each heard for its duration as a window of its own."""
    samples: Samples = np.concatenate([chirp(seed) for seed in seeds])
    windows = []
    for number, duration_s in enumerate(durations_s):
        span = SampleSpan(2 * number * RATE, round((2 * number + duration_s) * RATE))
        windows.append(Window(span, (span,), (span,)))
    chunk = Chunk(0, SampleSpan(0, len(samples)), tuple(windows))
    return Job(name, samples, [chunk])


JOBS = [
    job("a", (1, 2), (2.0, 1.4)),
    job("b", (4,), (1.2,)),
    job("c", (7, 9), (1.8, 0.8)),
]


def session_of(
    decoder: WhisperDecoder, slots: int = 3, language: str | None = "en", **options: Any
) -> WhisperSession:
    policy = build_policy("none", {}, WHISPER_RATES)
    progress = options.get("progress", SilentProgress())
    return WhisperSession(
        decoder,
        tiny_tokens(),
        "tiny",
        policy,
        WhisperOptions(language, "transcribe", slots),
        progress,
    )


def run(session: WhisperSession, jobs: Sequence[Job]) -> dict[str, Recognition | Exception]:
    """Submit as the pipeline does: another recording whenever little waits."""
    done: dict[str, Recognition | Exception] = {}
    waiting = list(jobs)
    try:
        while waiting or session.busy:
            while waiting and session.wants_more:
                session.submit(waiting.pop(0), more_follow=bool(waiting))
            for one in session.step():
                assert one.recording not in done
                done[one.recording] = one.result
    finally:
        session.close()
    return done


def words(result: Recognition | Exception) -> list[tuple[str, float, float]]:
    assert isinstance(result, Recognition)
    return [
        (word.text, word.span.start_s, word.span.end_s)
        for chunk in result.chunks
        for segment in chunk.segments
        for word in segment.words
    ]


@pytest.fixture(scope="module")
def alone(model: Any) -> dict[str, list[tuple[str, float, float]]]:
    """Words of each recording by itself."""
    found = {}
    for one in JOBS:
        result = run(session_of(FaultyDecoder(model), slots=1), [one])[one.recording]
        found[one.recording] = words(result)
    assert sum(map(len, found.values())) >= 6
    return found


@pytest.mark.parametrize(("slots", "encodes_ahead"), [(2, False), (2, True), (16, False)])
def test_session_when_recordings_share_it_then_the_words_of_each_alone(
    model: Any, alone: dict[str, Any], slots: int, encodes_ahead: bool
) -> None:
    decoder = FaultyDecoder(model, encodes_ahead=encodes_ahead)
    done = run(session_of(decoder, slots), JOBS)
    assert {name: words(result) for name, result in done.items()} == alone
    kinds = {window.features is None for window in decoder.loaded}
    assert kinds == {encodes_ahead}
    assert all(isinstance(one, Recognition) and one.wall_s > 0 for one in done.values())


def test_session_when_languages_are_asked_for_then_each_recording_has_its_own(model: Any) -> None:
    done = run(session_of(FaultyDecoder(model), language=None), JOBS[:2])
    for one in JOBS[:2]:
        found = run(session_of(FaultyDecoder(model), language=None), [one])
        result, shared = found[one.recording], done[one.recording]
        assert isinstance(result, Recognition)
        assert isinstance(shared, Recognition)
        assert shared.language == result.language
        assert words(shared) == words(result)


def test_session_when_a_source_cannot_be_read_then_that_recording_alone_fails(
    model: Any, alone: dict[str, Any]
) -> None:
    broken = job("broken", (3, 5), (2.0, 0.05))
    done = run(session_of(FaultyDecoder(model)), [JOBS[0], broken, JOBS[1]])
    assert str(done.pop("broken")) == "the recording is gone"
    assert {name: words(result) for name, result in done.items()} == {
        name: alone[name] for name in ("a", "b")
    }


def test_session_when_one_recording_meets_a_fault_of_ours_then_that_one_alone_fails(
    model: Any, alone: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = WindowTask.take

    def faulty(task: WindowTask, *arguments: Any) -> Any:
        if task.name == "b window 0":
            raise KeyError("a fault of ours")
        return take(task, *arguments)

    monkeypatch.setattr(WindowTask, "take", faulty)
    done = run(session_of(FaultyDecoder(model)), JOBS)
    assert isinstance(done.pop("b"), KeyError)
    assert {name: words(result) for name, result in done.items()} == {
        name: alone[name] for name in ("a", "c")
    }


def test_session_when_the_language_cannot_be_found_then_that_recording_alone_fails(
    model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = session_module.window_languages

    def faulty(decoder: Any, tokens: Any, samples: Samples, windows: Any) -> Any:
        if samples is JOBS[1].samples:
            raise OSError("the disk is gone")
        return ask(decoder, tokens, samples, windows)

    monkeypatch.setattr(session_module, "window_languages", faulty)
    done = run(session_of(FaultyDecoder(model), language=None), JOBS[1:])
    assert {name: isinstance(one, Recognition) for name, one in done.items()} == {
        "b": False,
        "c": True,
    }


def test_session_when_memory_runs_out_then_the_same_words_and_a_note_in_what_it_touched(
    model: Any, alone: dict[str, Any]
) -> None:
    decoder = FaultyDecoder(model)
    decoder.faults[5] = torch.OutOfMemoryError("CUDA out of memory")
    progress = Notes()
    done = run(session_of(decoder, 4, progress=progress), JOBS)
    assert {name: words(result) for name, result in done.items()} == alone
    ((level, message),) = progress.notes
    assert level == "warning"
    assert message.startswith("out of memory with 4 requests at a time, goes on with 2")
    first = done["a"]
    assert isinstance(first, Recognition)
    assert first.notes == (message,)


def test_session_when_windows_are_drawn_anew_then_their_speech_is_not_loaded_again(
    model: Any,
) -> None:
    """A retry is the same audio at another temperature: fewer loads than requests."""
    decoder = FaultyDecoder(model)
    done = run(session_of(decoder), JOBS)
    requests = sum(
        chunk.requests
        for result in done.values()
        if isinstance(result, Recognition)
        for chunk in result.chunks
    )
    loads = len(decoder.loaded)
    assert 5 <= loads < requests


def test_session_when_closed_with_work_left_then_it_is_not_busy(model: Any) -> None:
    session = session_of(FaultyDecoder(model))
    session.submit(JOBS[0], more_follow=True)
    session.step()
    assert session.busy
    session.close()
    assert not session.busy


def test_session_when_little_waits_then_it_wants_more(model: Any) -> None:
    session = session_of(FaultyDecoder(model), slots=2)
    assert session.wants_more
    session.submit(job("long", (1, 2, 3), (2.0, 2.0, 2.0)), more_follow=True)
    assert not session.wants_more
    session.step()
    assert session.wants_more
    session.close()
