"""`murmur speakers`: what it lists, what it rewrites, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from murmur_cli.errors import ExitCode
from murmur_cli.types import Transcript
from murmur_cli.writers.output import write_outputs
from support.factories import make_facts, make_segment, make_transcript
from support.murmur_call import Called, call_main

ALL = ("rttm", "srt", "json", "vtt", "txt", "stm", "seglst", "ctm")


def _transcript(folder: Path) -> Transcript:
    segments = [
        make_segment("so how was it then my dear old friend Ben", 0.25, 4.125, "SPEAKER_00"),
        make_segment("fine", 4.2, 4.7, "SPEAKER_01"),
        make_segment("مرحبا، كيف حالك؟", 6.0, 8.0, "SPEAKER_00"),
        make_segment("今天 天气 很好", 9.0, 10.0, None),
    ]
    facts = make_facts(path=folder / "talk.wav")
    return make_transcript(segments, facts=facts)


@pytest.fixture
def result(tmp_path: Path) -> Path:
    write_outputs(_transcript(tmp_path), ALL, tmp_path, "talk")
    return tmp_path / "talk.json"


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _call(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Called:
    return call_main(capsys, "speakers", *arguments)


def test_speakers_when_asked_then_talk_time_counts_and_first_words(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _bytes(result.parent)
    called = _call(capsys, result)
    assert (called.code, called.err) == (0, "")
    assert called.out.splitlines() == [
        "speaker     talks     turns  words  first words",
        "SPEAKER_00  00:00:06  2      13     so how was it then my dear old …",
        "SPEAKER_01  00:00:00  1      1      fine",
    ]
    assert _bytes(result.parent) == before


def test_speakers_when_renamed_then_every_file_and_back_again_the_same_bytes(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _bytes(result.parent)
    called = _call(capsys, result, "--rename", "SPEAKER_00=Zoë = Öz")
    assert (called.code, called.out) == (0, "")
    after = _bytes(result.parent)
    assert after.keys() == before.keys()
    changed = {name for name in after if after[name] != before[name]}
    assert changed == before.keys() - {"talk.ctm"}
    assert "Zoë%20=%20Öz" in after["talk.rttm"].decode()
    assert "Zoë = Öz: so how was it" in after["talk.srt"].decode()
    assert "SPEAKER_00" not in "".join(content.decode() for content in after.values())
    _call(capsys, result, "--rename", "Zoë = Öz=SPEAKER_00")
    assert _bytes(result.parent) == before


def test_speakers_when_merged_then_one_is_left(
    result: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called = _call(capsys, result, "--merge", "SPEAKER_00,SPEAKER_01", "--rename", "SPEAKER_00=A")
    assert called.code == 0
    assert [row["speaker"] for row in json.loads(result.read_text("utf-8"))["speakers"]] == ["A"]
    assert result.with_suffix(".rttm").read_text("utf-8").count(" A ") == 3


def test_speakers_when_only_the_json_is_there_then_others_only_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_outputs(_transcript(tmp_path), ("json",), tmp_path, "talk")
    path = tmp_path / "talk.json"
    _call(capsys, path, "--rename", "SPEAKER_00=A")
    assert _bytes(tmp_path).keys() == {"talk.json"}
    called = _call(capsys, path, "-f", "srt,seglst")
    assert called.code == 0
    assert _bytes(tmp_path).keys() == {"talk.json", "talk.srt", "talk.seglst.json"}
    assert called.err_lines == [f"{tmp_path}/talk.srt {tmp_path}/talk.seglst.json {path}"]


def test_speakers_when_a_file_cannot_be_written_then_nothing_changes(
    result: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _bytes(result.parent)
    made = 0

    def full(path: Path, content: bytes) -> None:
        nonlocal made
        made += 1
        if made == 3:
            raise OSError(28, "No space left on device")
        path.write_bytes(content)

    monkeypatch.setattr("murmur_cli.writers.output._write_new", full)
    called = _call(capsys, result, "--rename", "SPEAKER_00=A")
    assert called.code == ExitCode.SOME_FAILED
    (line,) = called.err_lines
    assert "no space left" in line
    assert _bytes(result.parent) == before


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--rename", "SPEAKER_07=A"], "no such speaker; there are SPEAKER_00, SPEAKER_01"),
        (["--rename", "SPEAKER_01=SPEAKER_00"], "two speakers would be called SPEAKER_00"),
        (["--merge", "SPEAKER_00"], "name two speakers or more"),
        (["--merge", "SPEAKER_00,SPEAKER_01", "--rename", "SPEAKER_01=A"], "no such speaker"),
        (["-f", "srtt"], "--format srtt: unknown format"),
    ],
)
def test_speakers_when_an_option_is_wrong_then_code_2_and_nothing_changes(
    result: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    before = _bytes(result.parent)
    called = _call(capsys, result, *options)
    assert called.code == ExitCode.USAGE
    (line,) = called.err_lines
    assert expected in line
    assert _bytes(result.parent) == before


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("not json", "not a JSON document of murmur"),
        ("{}", "not a JSON document of murmur"),
        ("[1]", "not a JSON document of murmur"),
        (
            '{"schema_version": "2.0", "session_id": "", "audio": 0, "speakers": [],'
            ' "segments": [], "turns": []}',
            "schema version 2.0 is not known",
        ),
        (
            '{"schema_version": "1.0", "session_id": "", "audio": 0, "speakers": [],'
            ' "segments": [], "turns": []}',
            "damaged document of murmur",
        ),
    ],
)
def test_speakers_when_file_is_no_result_then_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, expected: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, "utf-8")
    called = _call(capsys, path)
    assert called.code == ExitCode.USAGE
    (line,) = called.err_lines
    assert str(path) in line
    assert expected in line


def test_speakers_when_nobody_talks_then_so_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_outputs(make_transcript(facts=make_facts(path=tmp_path / "x")), ("json",), tmp_path, "t")
    called = _call(capsys, tmp_path / "t.json")
    assert (called.code, called.out) == (0, "")
    assert called.err_lines == ["no speakers: nobody talks, or they were not looked for"]
