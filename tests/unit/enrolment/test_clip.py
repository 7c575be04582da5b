"""Clips of people with stand-ins for the networks: what is refused, and what is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.enrolment.clip import hear_clip
from murmur_cli.enrolment.enrol import enrol, refuse_failed
from murmur_cli.enrolment.request import ClipRequest, EnrolRequest
from murmur_cli.errors import RecordingError, UsageError
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    KnownVoice,
    KnownVoices,
    LocalSpeaker,
    LocalTurn,
    ModelIdentity,
    Samples,
    TimeSpan,
    VoiceClip,
)
from support.fake_stages import IDENTITY, FakeStages, OneVoice, Ready
from support.media_files import RATE_HZ, tone
from support.voices import person


class Voices(OneVoice):
    """People who talk one after the other, for the seconds given."""

    def __init__(self, *seconds: float) -> None:
        self.seconds = seconds

    def diarize(self, samples: Samples, chunk: Chunk, **_: Any) -> ChunkDiarization:
        turns, speakers, at_s = [], [], 0.0
        for number, clean_s in enumerate(self.seconds):
            turns.append(LocalTurn(TimeSpan(at_s, at_s + clean_s), number))
            speakers.append(LocalSpeaker(chunk.index, number, clean_s, person(number)))
            at_s += clean_s
        return ChunkDiarization(chunk.index, tuple(turns), tuple(speakers))


def _stages(*seconds: float) -> Any:
    return FakeStages(None, diarizer=Ready(Voices(*seconds)))


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    sf.write(tmp_path / "clip.wav", tone(1.0), RATE_HZ)
    return tmp_path / "clip.wav"


def test_clip_when_one_person_talks_then_the_voice_and_nothing_said(clip: Path) -> None:
    heard = hear_clip(clip, _stages(10.0))
    assert (heard.clip.file, heard.clip.clean_s, heard.model) == ("clip.wav", 10.0, IDENTITY)
    np.testing.assert_array_equal(heard.clip.embedding, person(0))
    assert heard.warnings == ()


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ((3.0,), "3.0 s of clear speech; 8 s and more tell people apart better"),
        ((20.0, 4.0), "others talk for 4.0 s; the voice that talks for 20.0 s was taken"),
        ((4.0, 20.0), "others talk for 4.0 s; the voice that talks for 20.0 s was taken"),
    ],
)
def test_clip_when_usable_with_doubts_then_a_warning(
    clip: Path, seconds: tuple[float, ...], expected: str
) -> None:
    assert hear_clip(clip, _stages(*seconds)).warnings == (expected,)


def test_clip_when_somebody_coughs_then_nothing_said(clip: Path) -> None:
    assert hear_clip(clip, _stages(20.0, 0.5)).warnings == ()


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ((), "no speech found; give a clip in which one person talks"),
        ((1.5,), "only 1.5 s of clear speech; at least 2 s of one person are needed"),
        ((6.0, 5.0), "2 people talk, the first for 6.0 s and others for 5.0 s"),
    ],
)
def test_clip_when_not_usable_then_one_plain_line(
    clip: Path, seconds: tuple[float, ...], expected: str
) -> None:
    with pytest.raises(RecordingError) as raised:
        hear_clip(clip, _stages(*seconds))
    assert str(raised.value).startswith(f"{clip}: {expected}")


def test_clip_when_nobody_speaks_then_so_it_says(tmp_path: Path) -> None:
    path = tmp_path / "silence.wav"
    sf.write(path, np.zeros(RATE_HZ, np.float32), RATE_HZ)
    with pytest.raises(RecordingError, match="no speech found; give a clip in which one person"):
        hear_clip(path, _stages(10.0))


def test_enrol_when_clips_and_files_name_people_then_together(clip: Path) -> None:
    stored = KnownVoices(
        IDENTITY, (KnownVoice("Anna", (VoiceClip("old.wav", "1" * 64, 4.0, person(0, 0.2, 1)),)),)
    )
    request = EnrolRequest(
        (ClipRequest("Anna", clip), ClipRequest("Ben", clip)), ((Path("voices.json"), stored),)
    )
    said: list[str] = []
    known, failed = enrol(request, _stages(5.0), said.append)
    assert known is not None
    assert failed == ()
    assert [(voice.name, voice.clean_s) for voice in known.voices] == [("Anna", 9.0), ("Ben", 5.0)]
    assert said == [f"{clip}: 5.0 s of clear speech; 8 s and more tell people apart better"] * 2


def test_enrol_when_a_file_is_of_other_weights_then_usage_error() -> None:
    other = ModelIdentity("other", "hub", "a" * 64, "MIT")
    stored = KnownVoices(other, ())
    with pytest.raises(UsageError, match=r"made with other \(a{12}…\), this run uses stand-in"):
        enrol(EnrolRequest((), ((Path("voices.json"), stored),)), _stages(5.0), print)


def test_enrol_when_embeddings_differ_in_length_then_usage_error(clip: Path) -> None:
    short = np.array([1.0, 0.0], np.float32)
    stored = KnownVoices(
        IDENTITY, (KnownVoice("Ben", (VoiceClip("b.wav", "1" * 64, 4.0, short),)),)
    )
    request = EnrolRequest((ClipRequest("Anna", clip),), ((Path("voices.json"), stored),))
    with pytest.raises(UsageError, match=r"voices of 2 and 16 numbers do not go together"):
        enrol(request, _stages(10.0), print)


def test_enrol_when_a_clip_fails_then_the_others_are_known_and_a_run_refuses(
    clip: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.wav"
    bad.write_bytes(b"nothing")
    request = EnrolRequest((ClipRequest("Anna", bad), ClipRequest("Ben", clip)), ())
    known, failed = enrol(request, _stages(10.0), print)
    assert known is not None
    assert [voice.name for voice in known.voices] == ["Ben"]
    with pytest.raises(UsageError, match=f"--enroll Anna={bad}: not readable as audio"):
        refuse_failed(failed)
