"""The whole backend on a random Whisper: what comes out is nonsense, but all of it is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from murmur_cli.asr.base import Recognition
from murmur_cli.asr.whisper.backend import WhisperBackend
from murmur_cli.asr.whisper.decoder import WhisperDecoder
from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.asr.whisper.session import WhisperOptions
from murmur_cli.asr.whisper.window_task import MAX_REQUESTS
from murmur_cli.engine.policies.registry import POLICIES, build_policy
from murmur_cli.errors import UsageError
from murmur_cli.types import Chunk, Flag, ModelIdentity, Samples, SampleSpan, TimeSpan, Window
from support.recognise import recognise
from support.tiny_whisper import ENGLISH, GERMAN, VOCABULARY, chirp, tiny_tokens, tiny_whisper

IDENTITY = ModelIdentity("tiny", "random", "0" * 64, "none")
RATE = 16_000


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_whisper(seed=1)


@pytest.fixture(scope="module")
def samples() -> Samples:
    """Twelve seconds."""
    return np.concatenate([chirp(seed) for seed in range(6)])


ONCE = {*(name for name in POLICIES if not name.endswith("+output")), "c3r+output"}


def make_chunk(index: int, *windows: Sequence[tuple[float, float]]) -> Chunk:
    """A chunk of windows, each a list of pieces in seconds that are all speech."""
    made = []
    for pieces in windows:
        spans = tuple(SampleSpan(round(s * RATE), round(e * RATE)) for s, e in pieces)
        made.append(Window(SampleSpan(spans[0].start, spans[-1].end), spans, spans))
    return Chunk(index, SampleSpan(made[0].span.start, made[-1].span.end), tuple(made))


CHUNKS = [
    make_chunk(0, [(0.0, 1.9)], [(2.0, 3.0), (3.5, 4.4)]),
    make_chunk(1, [(5.0, 5.4)], [(6.0, 8.0)], [(8.5, 9.5)]),
    make_chunk(2, [(10.0, 12.0)]),
]


class CountedProgress:
    """Notes the stages and steps it is told of."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def stage(self, recording: str, name: str, total: int | None) -> None:
        self.calls.append(("stage", recording, name, total))

    def advance(self, recording: str, name: str, done: int) -> None:
        self.calls.append(("advance", recording, name, done))

    def note(self, message: str, *, level: str = "info") -> None:
        raise AssertionError(message)


def transcribe(
    model: Any,
    samples: Samples,
    policy: str = "none",
    language: str | None = "en",
    slots: int = 4,
    chunks: Sequence[Chunk] = tuple(CHUNKS),
    *,
    multilingual: bool = True,
) -> tuple[Recognition, CountedProgress]:
    tokens = tiny_tokens(multilingual=multilingual)
    backend = WhisperBackend(
        WhisperDecoder(model, tokens),
        tokens,
        IDENTITY,
        build_policy(policy, {}, WHISPER_RATES),
        WhisperOptions(language, "transcribe", slots),
    )
    progress = CountedProgress()
    return recognise(backend, samples, chunks, "talk", progress), progress


@pytest.mark.parametrize(
    "policy",
    [
        # Of the joint ones one stands for all: output windows know nothing of the speech.
        pytest.param(name, marks=() if name in ONCE else pytest.mark.slow)
        for name in POLICIES
        if name != "streaming"
    ],
)
def test_backend_when_run_then_every_chunk_is_answered_within_its_windows(
    model: Any, samples: Samples, policy: str
) -> None:
    found, progress = transcribe(model, samples, policy)
    assert found.language == "en"
    assert [chunk.chunk_index for chunk in found.chunks] == [0, 1, 2]
    for chunk, transcript in zip(CHUNKS, found.chunks, strict=True):
        windows = [window.span.time for window in chunk.windows]
        assert (transcript.model, transcript.policy) == ("tiny", policy)
        assert len(windows) <= transcript.requests <= MAX_REQUESTS * len(windows)
        assert transcript.kv.steps > 0
        assert transcript.kv.bytes_read > 0
        for segment in transcript.segments:
            assert segment.chunk_index == chunk.index
            assert segment.words
            for word in segment.words:
                assert word.text.strip() == word.text != ""
                assert any(inside(word.span, window) for window in windows)
                assert word.probability is not None
                assert 0.0 <= word.probability <= 1.0
        for span in transcript.untranscribed:
            assert any(inside(span, window) for window in windows)
        assert bool(transcript.untranscribed) == bool(
            {Flag.INCOMPLETE, Flag.REJECTED} & set(transcript.flags)
        )
        # A window without a word says so.
        for window in windows:
            heard = any(inside(segment.span, window) for segment in transcript.segments)
            assert heard or any(inside(span, window) for span in transcript.untranscribed)
    assert any(chunk.segments for chunk in found.chunks)
    assert progress.calls[0] == ("stage", "talk", "recognition", 6)
    assert progress.calls[1:] == [("advance", "talk", "recognition", n) for n in range(1, 7)]


def texts(recognition: Recognition) -> list[str]:
    """Every word; probabilities may differ in the last digits from batch to batch."""
    return [
        word.text
        for chunk in recognition.chunks
        for segment in chunk.segments
        for word in segment.words
    ]


def inside(span: TimeSpan, outer: TimeSpan) -> bool:
    return outer.start_s <= span.start_s <= span.end_s <= outer.end_s


def test_backend_when_slots_or_chunks_change_then_same_words(model: Any, samples: Samples) -> None:
    wanted, _ = transcribe(model, samples)
    for slots in (1, 16):
        found, _ = transcribe(model, samples, slots=slots)
        assert texts(found) == texts(wanted)
    single = Chunk(0, SampleSpan(0, len(samples)), tuple(w for c in CHUNKS for w in c.windows))
    found, _ = transcribe(model, samples, chunks=[single])
    assert texts(found) == texts(wanted)


def test_backend_when_language_is_not_given_then_one_that_the_model_knows(
    model: Any, samples: Samples
) -> None:
    found, _ = transcribe(model, samples, language=None)
    assert found.language in ("en", "de")
    assert all(chunk.language in ("en", "de") for chunk in found.chunks)
    # Not mixed: the windows agree, and the encoder states that this took are used again.
    assert {chunk.language for chunk in found.chunks} == {found.language}
    again, _ = transcribe(model, samples, language=found.language)
    assert texts(again) == texts(found)


def test_backend_when_english_only_then_english(model: Any, samples: Samples) -> None:
    found, _ = transcribe(model, samples, language=None, multilingual=False)
    assert found.language == "en"


def test_backend_when_no_speech_then_nothing_is_decoded(model: Any, samples: Samples) -> None:
    found, progress = transcribe(model, samples, chunks=[])
    assert found == Recognition((), "en")
    assert progress.calls == []


def test_backend_when_language_is_unknown_then_usage_error_before_any_audio(model: Any) -> None:
    policy, tokens = build_policy("none", {}, WHISPER_RATES), tiny_tokens()
    decoder = WhisperDecoder(model, tokens)
    with pytest.raises(UsageError, match="--language fr: unknown to this model"):
        WhisperBackend(decoder, tokens, IDENTITY, policy, WhisperOptions("fr", "transcribe", 4))


def test_backend_when_windows_are_certain_of_different_languages_then_each_its_own(
    model: Any, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first window is asked first, and so on; the fourth, left out at first, comes last.
    answers = iter([GERMAN, ENGLISH, ENGLISH, ENGLISH, None, GERMAN])

    def logits_of_answers(decoder: WhisperDecoder, encoded: torch.Tensor) -> torch.Tensor:
        logits = torch.zeros(len(encoded), VOCABULARY)
        answer = next(answers)
        if answer is not None:
            logits[:, answer] = 5.0
        return logits

    monkeypatch.setattr(WhisperDecoder, "language_logits", logits_of_answers)
    found, _ = transcribe(model, samples, language=None)
    # Chunks: de en | en de en | unsure, which the mean of the five makes English. A tie goes to
    # the first in the alphabet.
    assert [chunk.language for chunk in found.chunks] == ["de", "en", "en"]
    assert found.language == "en"
    assert next(answers, "none left") == "none left"
