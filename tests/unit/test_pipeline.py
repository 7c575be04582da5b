"""One recording through the pipeline, with stand-ins for the stages that load models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.audio.discover import InputFile
from murmur_cli.diarization.base import NO_HINTS
from murmur_cli.pipeline import Done, Pipeline
from murmur_cli.progress import SilentProgress
from murmur_cli.settings import TranscribeSettings
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    Samples,
    SpeakerHints,
    Status,
    TimeSpan,
    Transcript,
)
from support.fake_stages import IDENTITY, FakeStages, OneVoice, Ready, SpeaksThreeWords
from support.media_files import RATE_HZ, forge_wav_sizes, tone

NEVER = Ready(None, AssertionError("asked for although nobody speaks"))


def _source(folder: Path, samples: np.ndarray, name: str = "talk") -> InputFile:
    path = folder / f"{name}.wav"
    sf.write(path, samples, RATE_HZ)
    return InputFile(path, name)


def _run(
    source: InputFile,
    stages: FakeStages,
    settings: TranscribeSettings | None = None,
    progress: SilentProgress | None = None,
) -> Transcript:
    (done,) = _run_all([source], stages, settings, progress)
    assert isinstance(done.result, Transcript)
    return done.result


def _run_all(
    sources: list[InputFile],
    stages: FakeStages,
    settings: TranscribeSettings | None = None,
    progress: SilentProgress | None = None,
) -> list[Done]:
    pipeline = Pipeline(
        settings or TranscribeSettings(),
        stages,  # type: ignore[arg-type]
        "cpu",
        progress or SilentProgress(),
    )
    return list(pipeline.run(sources))


def test_recording_when_someone_speaks_then_every_stage_has_its_part(tmp_path: Path) -> None:
    transcript = _run(_source(tmp_path, tone(3.0)), FakeStages(Ready(SpeaksThreeWords())))
    assert transcript.status is Status.OK
    assert transcript.session_id == "talk"
    assert transcript.speech_s == 3.0
    assert transcript.language == "en"
    assert [(word.text, word.speaker, word.span) for word in transcript.words] == [
        ("one", "SPEAKER_00", TimeSpan(0.0, 1.0)),
        ("two", "SPEAKER_00", TimeSpan(1.0, 2.0)),
        ("three", "SPEAKER_00", TimeSpan(2.0, 3.0)),
    ]
    assert [(turn.speaker, turn.span) for turn in transcript.turns] == [
        ("SPEAKER_00", TimeSpan(0.0, 3.0))
    ]
    assert transcript.run.models == (IDENTITY,) * 3  # detector, recogniser, diarizer
    assert [timing.stage for timing in transcript.timings] == [
        "read",
        "load models",
        "speech detection",
        "chunking",
        "recognition",
        "diarization",
        "stitching",
        "attribution",
    ]


def test_recording_when_nobody_speaks_then_recogniser_and_diarizer_are_not_asked_for(
    tmp_path: Path,
) -> None:
    source = _source(tmp_path, np.zeros(RATE_HZ, np.float32))
    transcript = _run(source, FakeStages(recogniser=NEVER, diarizer=NEVER))
    assert transcript.status is Status.EMPTY
    assert (transcript.segments, transcript.turns, transcript.chunks) == ((), (), ())
    assert (transcript.speech_s, transcript.language) == (0.0, None)
    assert transcript.run.models == (IDENTITY,)


def test_recording_when_not_diarized_then_words_have_no_speaker(tmp_path: Path) -> None:
    stages = FakeStages(Ready(SpeaksThreeWords()), diarizer=None)
    transcript = _run(_source(tmp_path, tone(3.0)), stages)
    assert [(word.text, word.speaker) for word in transcript.words] == [
        ("one", None),
        ("two", None),
        ("three", None),
    ]
    assert (transcript.turns, transcript.speakers) == ((), ())
    assert "diarization" not in {timing.stage for timing in transcript.timings}


@pytest.mark.parametrize("speaks", [True, False])
def test_recording_when_file_is_cut_off_then_partial_whether_or_not_someone_speaks(
    tmp_path: Path, speaks: bool
) -> None:
    samples = tone(2.0) if speaks else np.zeros(2 * RATE_HZ, np.float32)
    source = _source(tmp_path, samples)
    declared = 4 * RATE_HZ * 2  # four seconds of 16 bits
    forge_wav_sizes(source.path, source.path, riff_bytes=declared + 36, data_bytes=declared)
    transcript = _run(source, FakeStages(Ready(SpeaksThreeWords())))
    assert transcript.status is Status.PARTIAL
    assert transcript.facts.declared_duration_s == 4.0
    assert transcript.facts.duration_s == 2.0
    assert any("cut off" in warning for warning in transcript.warnings)


def test_recording_when_more_speakers_are_asked_for_than_found_then_a_warning(
    tmp_path: Path,
) -> None:
    settings = TranscribeSettings(hints=SpeakerHints(exact=3))
    transcript = _run(_source(tmp_path, tone(3.0)), FakeStages(Ready(SpeaksThreeWords())), settings)
    assert transcript.speakers == ("SPEAKER_00",)
    assert len(transcript.warnings) == 1
    assert "3" in transcript.warnings[0]


class _NotesHints(OneVoice):
    def __init__(self) -> None:
        self.heard: list[SpeakerHints] = []

    def diarize(
        self, samples: Samples, chunk: Chunk, *, hints: SpeakerHints = NO_HINTS
    ) -> ChunkDiarization:
        self.heard.append(hints)
        return super().diarize(samples, chunk, hints=hints)


@pytest.mark.parametrize(
    ("chunk_s", "expected"),
    [
        (60.0, [SpeakerHints(exact=2)]),
        # Either half may hold fewer people than the whole.
        (1.0, [SpeakerHints(maximum=2), SpeakerHints(maximum=2)]),
    ],
)
def test_diarizer_when_there_are_several_chunks_then_hints_hold_for_the_whole_only(
    tmp_path: Path, chunk_s: float, expected: list[SpeakerHints]
) -> None:
    diarizer = _NotesHints()
    stages = FakeStages(Ready(SpeaksThreeWords()), diarizer=Ready(diarizer))
    settings = TranscribeSettings(chunk_s=chunk_s, hints=SpeakerHints(exact=2))
    transcript = _run(_source(tmp_path, tone(1.5)), stages, settings)
    assert diarizer.heard == expected
    assert len(transcript.plan.chunks) == len(expected)


class _NotesCalls(SilentProgress):
    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def stage(self, recording: str, name: str, total: int | None) -> None:
        self.calls.append((name, total))

    def advance(self, recording: str, name: str, done: int) -> None:
        self.calls.append((name, "done", done))

    def note(self, message: str, *, level: str = "info") -> None:
        self.calls.append((level, message))


def test_progress_when_a_recording_runs_then_it_hears_of_chunks_and_of_the_rule(
    tmp_path: Path,
) -> None:
    progress = _NotesCalls()
    settings = TranscribeSettings(chunk_s=1.0)
    stages = FakeStages(Ready(SpeaksThreeWords()))
    transcript = _run(_source(tmp_path, tone(1.5)), stages, settings, progress)
    assert ("info", f"talk: {transcript.plan.rule}") in progress.calls
    at = progress.calls.index(("diarization", 2))
    assert progress.calls[at + 1 : at + 3] == [
        ("diarization", "done", 1),
        ("diarization", "done", 2),
    ]
