"""Recordings through a tiny random VibeVoice: garbage, but whole, in order and on record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from murmur_cli.asr.base import Job, Recognition
from murmur_cli.asr.speech_llm.chunk_task import MAX_REQUESTS
from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder, SpeechSource
from murmur_cli.asr.speech_llm.families.vibevoice import VibeVoice
from murmur_cli.asr.speech_llm.family import SpokenOutput, SpokenSegment
from murmur_cli.asr.speech_llm.session import SpeechLlmOptions, SpeechLlmSession
from murmur_cli.engine.model_adapter import StepOutput, StepRow
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.errors import ModelError
from murmur_cli.progress import SilentProgress
from murmur_cli.types import Chunk, ChunkTranscript, Flag, SampleSpan, Window, WordTimes
from support.tiny_speech_llms.tiny_family import noise

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

RATE = 16_000
MAX_AUDIO_S = 2.0


class Notes(SilentProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str, *, level: str = "info") -> None:
        if level == "warning":
            self.notes.append(message)


@pytest.fixture(scope="module")
def family(vibevoice_folder: Path) -> VibeVoice:
    return VibeVoice.load(vibevoice_folder, dtype=torch.float32, device_map="cpu")


class FaultyDecoder(SpeechLlmDecoder):
    """`faults` are raised at the steps of that number; `free` is what is said to be free."""

    faults: dict[int, Exception]
    free: int | None = None
    steps = 0

    def free_bytes(self) -> int | None:
        return self.free

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        self.steps += 1
        if self.steps in self.faults:
            raise self.faults[self.steps]
        return super().step(rows)


Open = Callable[..., tuple[SpeechLlmSession, FaultyDecoder, Notes]]


@pytest.fixture
def opened(family: VibeVoice) -> Open:
    def make(
        *, slots: int = 2, evict: str = "none", **faults: Exception
    ) -> tuple[SpeechLlmSession, FaultyDecoder, Notes]:
        decoder, notes = FaultyDecoder(family, MAX_AUDIO_S), Notes()
        decoder.faults = {int(key.removeprefix("step")): fault for key, fault in faults.items()}
        options = SpeechLlmOptions(None, "transcribe", "", slots, MAX_AUDIO_S)
        policy = build_policy(evict, {}, family.traits.rates(MAX_AUDIO_S))
        return SpeechLlmSession(decoder, family, "tiny", policy, options, notes), decoder, notes

    return make


def job(name: str, *lengths_s: float) -> Job:
    """A recording of quiet noise; chunks of these lengths, with a second between them."""
    chunks, at = [], 0
    for index, length_s in enumerate(lengths_s):
        span = SampleSpan(at, at + round(length_s * RATE))
        chunks.append(Chunk(index, span, (Window(span, (span,), (span,)),)))
        at = span.end + RATE
    return Job(name, noise(at), tuple(chunks))


def heard(session: SpeechLlmSession, *jobs: Job) -> dict[str, Recognition]:
    for number, each in enumerate(jobs):
        session.submit(each, more_follow=number + 1 < len(jobs))
    results = {}
    while session.busy:
        for one in session.step():
            assert isinstance(one.result, Recognition), one.result
            chunks = tuple(map(rounded, one.result.chunks))
            results[one.recording] = replace(one.result, chunks=chunks, wall_s=0.0, notes=())
    session.close()
    return results


def rounded(chunk: ChunkTranscript) -> ChunkTranscript:
    """A batch of another size may round in another way."""
    assert chunk.mean_logprob is not None
    return replace(chunk, mean_logprob=round(chunk.mean_logprob, 3))


def test_recordings_when_heard_then_every_chunk_is_valid_and_on_record(opened: Open) -> None:
    session, _, _ = opened()
    jobs = (job("a", 2.0, 1.5), job("b", 1.8))
    results = heard(session, *jobs)
    assert list(results) == ["b", "a"] or list(results) == ["a", "b"]
    for each in jobs:
        transcripts = results[each.recording].chunks
        assert [one.chunk_index for one in transcripts] == [chunk.index for chunk in each.chunks]
        for chunk, one in zip(each.chunks, transcripts, strict=True):
            assert (one.model, one.policy, one.word_times) == ("tiny", "none", WordTimes.SPREAD)
            assert 1 <= one.requests <= MAX_REQUESTS
            assert one.tokens >= one.kv.steps > 0
            assert one.kv.speech_entries_read == one.kv.speech_entries_held > 0
            assert one.mean_logprob is not None
            assert one.flags
            for segment in one.segments:
                assert chunk.span.time.start_s <= segment.span.start_s
                assert segment.span.end_s <= chunk.span.time.end_s
            assert one.segments or one.untranscribed


def test_recording_when_beside_others_then_the_same_as_alone(opened: Open) -> None:
    jobs = (job("a", 2.0, 1.5), job("b", 1.8))
    together = heard(opened(slots=3)[0], *jobs)
    for each in jobs:
        assert heard(opened(slots=1)[0], each)[each.recording] == together[each.recording]


def test_recording_when_it_has_no_chunks_then_empty(opened: Open) -> None:
    assert heard(opened()[0], job("a")) == {"a": Recognition((), None)}


def test_batch_size_when_memory_is_short_then_lowered_with_a_note(opened: Open) -> None:
    session, decoder, notes = opened(slots=3)
    slot_bytes = decoder.planned_bytes(1, 0)
    decoder.free = 10 * slot_bytes
    jobs = [job(name, 0.5) for name in "abc"]
    # The prompt and the longest output of a slot take most of it.
    results = heard(session, *jobs)
    assert sorted(results) == ["a", "b", "c"]
    assert len(notes.notes) == 1
    assert "memory has room for" in notes.notes[0]
    assert "--batch-size" in notes.notes[0]


def test_memory_when_one_request_does_not_fit_then_model_error(opened: Open) -> None:
    session, decoder, _ = opened()
    decoder.free = 1000
    session.submit(job("a", 1.0), more_follow=False)
    with pytest.raises(ModelError, match="out of memory with a single request"):
        session.step()


def test_memory_when_it_runs_out_in_a_step_then_half_the_slots_and_the_same_words(
    opened: Open,
) -> None:
    jobs = (job("a", 2.0, 1.5),)
    session, _, notes = opened(slots=2, step4=torch.OutOfMemoryError("no more"))
    assert heard(session, *jobs) == heard(opened(slots=2)[0], *jobs)
    assert notes.notes == [
        "out of memory with 2 requests at a time, goes on with 1; --batch-size 1 begins with that"
    ]


def test_policy_when_it_leaves_speech_out_then_less_is_read(opened: Open) -> None:
    (result,) = heard(opened(evict="output")[0], job("a", 2.0)).values()
    assert result.chunks[0].policy == "output"


def test_weights_when_no_numbers_then_the_recording_fails_with_a_plain_line(
    opened: Open, family: VibeVoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = family.logits
    monkeypatch.setattr(family, "logits", lambda hidden: scores(hidden) * torch.nan)
    session, _, _ = opened()
    session.submit(job("a", 1.0), more_follow=False)
    results = []
    while session.busy:
        results += session.step()
    session.close()
    (only,) = results
    assert isinstance(only.result, ModelError)
    assert "its scores are no numbers" in str(only.result)


def test_source_when_asked_for_then_its_pieces_joined() -> None:
    samples = noise(100)
    source = SpeechSource(samples, (SampleSpan(10, 20), SampleSpan(50, 55)))
    assert source.audio.tolist() == [*samples[10:20].tolist(), *samples[50:55].tolist()]


def test_local_speakers_when_a_chunk_took_several_answers_then_numbered_through(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """'Speaker 1' of the second answer need not be the first answer's: it is number 2."""
    answers = iter(
        [
            [SpokenSegment("b", 0.4, 0.5, 1), SpokenSegment("a", 0.0, 0.4, 7)],
            [SpokenSegment("c", 0.0, 0.7, 1), SpokenSegment("d", 0.7, 1.5, 1)],
        ]
    )

    def read(self: VibeVoice, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        return SpokenOutput(tuple(next(answers)), is_whole=False)

    monkeypatch.setattr(VibeVoice, "read", read)
    (result,) = heard(opened()[0], job("a", 2.0)).values()
    (chunk,) = result.chunks
    assert [(one.text, one.local_speaker, one.part) for one in chunk.segments] == [
        ("a", 0, 0),
        ("b", 1, 0),
        ("c", 2, 1),
        ("d", 2, 1),
    ]
    assert Flag.INCOMPLETE not in chunk.flags
