"""The pipeline's own weights are gated: stand-ins take its place, in its forms."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from murmur_cli.diarization.embedding import Embedder
from murmur_cli.diarization.pyannote_pipeline import (
    TELEMETRY_VARIABLE,
    PyannoteDiarizer,
    load_pipeline,
)
from murmur_cli.errors import ModelError
from murmur_cli.types import Chunk, ModelIdentity, SampleSpan, SpeakerHints, Window

START_S = 100
IDENTITIES = (ModelIdentity("pipeline", "", "", ""), ModelIdentity("voices", "", "", ""))


class StandInPipeline:
    """Says the same turns of every piece of audio, and keeps what it was asked."""

    def __init__(self, *turns: tuple[float, float, str]) -> None:
        self.turns = turns
        self.shapes: list[tuple[int, ...]] = []
        self.numbers: list[dict[str, int]] = []

    def __call__(self, audio: dict[str, Any], **numbers: int) -> SimpleNamespace:
        from pyannote.core import Annotation, Segment

        assert audio["sample_rate"] == 16_000
        self.shapes.append(tuple(audio["waveform"].shape))
        self.numbers.append(numbers)
        annotation = Annotation()
        for track, (start_s, end_s, speaker) in enumerate(self.turns):
            annotation[Segment(start_s, end_s), track] = speaker
        return SimpleNamespace(speaker_diarization=annotation)


class StandInEmbedder:
    """The first frame of a stretch, as a vector of one of two directions."""

    def embed(self, features: object, stretches: list[np.ndarray]) -> list[np.ndarray]:
        half = 10 / 0.016875
        return [np.eye(2, dtype=np.float32)[int(frames[0] > half)] for frames in stretches]


def chunk(seconds: int = 20) -> Chunk:
    """From 100 s on, all of it speech."""
    span = SampleSpan(START_S * 16_000, (START_S + seconds) * 16_000)
    return Chunk(3, span, (Window(span, (span,), (span,)),))


def diarizer(pipeline: StandInPipeline) -> PyannoteDiarizer:
    """With stand-ins for all networks."""
    return PyannoteDiarizer(pipeline, cast(Embedder, StandInEmbedder()), IDENTITIES)


@pytest.fixture
def samples() -> np.ndarray:
    return np.zeros((START_S + 20) * 16_000, dtype=np.float32)


def test_turns_when_pipeline_names_speakers_then_numbers_by_first_speech(
    samples: np.ndarray,
) -> None:
    pipeline = StandInPipeline((12.0, 18.0, "SPEAKER_00"), (1.0, 9.0, "SPEAKER_01"))
    found = diarizer(pipeline).diarize(samples, chunk())
    assert pipeline.shapes == [(1, 20 * 16_000)]
    assert [(turn.span.start_s, turn.span.end_s, turn.local_speaker) for turn in found.turns] == [
        (101.0, 109.0, 0),
        (112.0, 118.0, 1),
    ]
    assert found.chunk_index == 3
    assert [voice.local_speaker for voice in found.speakers] == [0, 1]
    vectors = [voice.embedding for voice in found.speakers]
    assert vectors[0] is not None
    assert vectors[1] is not None
    assert vectors[0].tolist() == [1.0, 0.0]
    assert vectors[1].tolist() == [0.0, 1.0]
    # Ends of turns are left out: 8 s and 6 s less 0.2 s at both ends, within a frame of 17 ms.
    assert [voice.clean_s for voice in found.speakers] == pytest.approx([7.6, 5.6], abs=0.04)


def test_turns_when_they_leave_the_chunk_then_they_are_cut(samples: np.ndarray) -> None:
    pipeline = StandInPipeline((-0.5, 2.0, "A"), (19.0, 20.5, "B"), (20.0, 21.0, "C"))
    found = diarizer(pipeline).diarize(samples, chunk())
    assert [(turn.span.start_s, turn.span.end_s) for turn in found.turns] == [
        (100.0, 102.0),
        (119.0, 120.0),
    ]


def test_overlap_when_two_talk_then_both_turns_stay_and_the_voice_is_clean(
    samples: np.ndarray,
) -> None:
    pipeline = StandInPipeline((0.0, 6.0, "A"), (4.0, 5.0, "B"))
    found = diarizer(pipeline).diarize(samples, chunk())
    assert len(found.turns) == 2
    silent = found.speakers[1]
    assert (silent.clean_s, silent.embedding) == (0, None)


def test_silence_when_pipeline_finds_nobody_then_no_speakers(samples: np.ndarray) -> None:
    found = diarizer(StandInPipeline()).diarize(samples, chunk())
    assert (found.turns, found.speakers) == ((), ())


@pytest.mark.parametrize(
    ("hints", "numbers"),
    [
        (SpeakerHints(), {}),
        (SpeakerHints(exact=2), {"num_speakers": 2}),
        (SpeakerHints(minimum=1, maximum=4), {"min_speakers": 1, "max_speakers": 4}),
    ],
)
def test_hints_when_given_then_pipeline_is_told(
    samples: np.ndarray, hints: SpeakerHints, numbers: dict[str, int]
) -> None:
    pipeline = StandInPipeline((0.0, 5.0, "A"))
    diarizer(pipeline).diarize(samples, chunk(), hints=hints)
    assert pipeline.numbers == [numbers]


def test_identities_when_asked_then_the_voices_are_the_embedders(samples: np.ndarray) -> None:
    made = diarizer(StandInPipeline())
    assert made.identities == IDENTITIES
    assert made.voice_model is IDENTITIES[1]


@pytest.mark.parametrize(
    ("config", "reason"),
    [(None, "FileNotFoundError"), ("pipeline: {name: nowhere.Nothing}\n", "ModuleNotFoundError")],
)
def test_load_when_folder_is_no_pipeline_then_one_line_names_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str | None, reason: str
) -> None:
    monkeypatch.setenv(TELEMETRY_VARIABLE, "1")
    if config is not None:
        (tmp_path / "config.yaml").write_text(config)
    with pytest.raises(ModelError, match=f"{reason}.*--diarizer embedded") as caught:
        load_pipeline(tmp_path)
    assert "\n" not in str(caught.value)
    assert os.environ[TELEMETRY_VARIABLE] == "0"
