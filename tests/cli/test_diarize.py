"""`murmur diarize` and known voices, with stand-ins for what loads models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.errors import ExitCode
from murmur_cli.models.choice import ModelChoice, ModelKind
from support.fake_stages import FakeStages, OneVoice, Ready, SpeaksThreeWords
from support.media_files import RATE_HZ, tone
from support.murmur_call import Called, call_main
from support.panned import babble, in_turns, with_bleed

Call = Callable[..., Called]


@pytest.fixture
def stages() -> FakeStages:
    return FakeStages(None, diarizer=Ready(OneVoice()))


@pytest.fixture
def call(
    stages: FakeStages, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    for place in ("murmur_cli.batch.start_stages", "murmur_cli.stages.start_stages"):
        monkeypatch.setattr(place, stages.start)
    choice = ModelChoice("stand-in", ModelKind.EMBEDDED, Path("/nowhere"), "a test")
    monkeypatch.setattr("murmur_cli.models.choice.choose_model", lambda name, device: choice)
    return lambda *arguments: call_main(capsys, *arguments)


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return _wav(tmp_path / "talk.wav", tone(9.0))


def _wav(path: Path, samples: np.ndarray) -> Path:
    sf.write(path, samples, RATE_HZ)
    return path


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def test_diarize_when_called_then_rttm_and_json_without_a_recogniser(
    call: Call, talk: Path
) -> None:
    called = call("diarize", talk)
    assert called.code == 0
    assert _names(talk.parent) == ["talk.json", "talk.rttm", "talk.wav"]
    assert talk.with_suffix(".rttm").read_text("utf-8") == (
        "SPEAKER talk 1 0.000 9.000 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    )
    document = _json(talk.with_suffix(".json"))
    assert (document["segments"], document["enrolment"]) == ([], None)
    assert document["chunks"][0]["model"] is None
    assert document["chunks"][0]["coverage"] is None
    assert "model" not in document["run"]["options"]
    (line,) = called.err_lines
    assert "ok: 9.0 s, 1 speaker; took" in line


def test_diarize_when_standard_output_is_asked_for_then_rttm_alone_there(
    call: Call, talk: Path
) -> None:
    called = call("diarize", talk, "-f", "rttm", "-o", "-", "-q")
    assert called.out.startswith("SPEAKER talk 1 0.000")
    assert called.err == ""
    assert _names(talk.parent) == ["talk.wav"]


class _TwoAtOnce(OneVoice):
    """A long turn with a short one inside."""

    def diarize(self, samples: Any, chunk: Any, **_: Any) -> Any:
        from support.voices import local_chunk, person

        return local_chunk(
            chunk.index, [([(0.0, 9.0)], person(0), 8.0), ([(4.0, 5.0)], person(1), 1.0)]
        )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], [("SPEAKER_00", 0, 9), ("SPEAKER_01", 4, 5)]),
        (["--exclusive"], [("SPEAKER_00", 0, 4), ("SPEAKER_01", 4, 5), ("SPEAKER_00", 5, 9)]),
    ],
)
def test_diarize_when_exclusive_then_no_two_turns_overlap(
    call: Call, stages: FakeStages, talk: Path, options: list[str], expected: list[Any]
) -> None:
    stages.diarizer = Ready(_TwoAtOnce())
    call("diarize", talk, *options)
    turns = _json(talk.with_suffix(".json"))["turns"]
    assert [(turn["speaker"], turn["start_s"], turn["end_s"]) for turn in turns] == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-f", "srt"], "--format srt: without words there is rttm and json only"),
        (["--channels", "left"], "--channels left: known are mix, split, auto"),
        (["--enroll-threshold", "0"], "--enroll-threshold 0: give more than 0, at most 1"),
        (["--enroll-threshold", "nan"], "--enroll-threshold nan: give more than 0"),
        (["--enroll-threshold", "0.3"], "--enroll-threshold 0.3: there is no known voice to"),
        (["--enroll", "Anna=gone.wav"], "--enroll Anna=gone.wav: gone.wav: no such file"),
        (["--speakers", "0"], "--speakers 0: give 1 or more"),
        (["-o", ""], "-o is empty"),
    ],
    ids=" ".join,
)
def test_diarize_when_an_option_is_wrong_then_one_line_and_code_2(
    call: Call, talk: Path, options: list[str], expected: str
) -> None:
    called = call("diarize", talk, *options)
    assert called.code == ExitCode.USAGE
    (line,) = called.err_lines
    assert expected in line
    assert _names(talk.parent) == ["talk.wav"]


def test_diarize_when_nothing_can_be_read_then_code_3(call: Call, tmp_path: Path) -> None:
    called = call("diarize", tmp_path / "gone.wav")
    assert called.code == ExitCode.NOTHING_PROCESSED
    assert len(called.err_lines) == 1


# --- known voices -----------------------------------------------------------------------------


def test_enroll_when_clips_are_named_then_a_file_that_names_speakers(
    call: Call, talk: Path, tmp_path: Path
) -> None:
    voices = tmp_path / "voices.json"
    called = call("enroll", f"Zoë Öz={talk}", "-o", voices)
    assert (called.code, called.err_lines) == (0, [f"{voices}: Zoë Öz (9.0 s)"])
    called = call("diarize", talk, "--enroll", voices)
    assert called.code == 0
    assert " Zoë%20Öz " in talk.with_suffix(".rttm").read_text("utf-8")
    enrolment = _json(talk.with_suffix(".json"))["enrolment"]
    assert enrolment["threshold"] == 0.5
    assert enrolment["voices"][0]["name"] == "Zoë Öz"
    assert enrolment["speakers"] == [
        {
            "label": "SPEAKER_00",
            "speaker": "Zoë Öz",
            "known": True,
            "clean_s": 9.0,
            "best": "Zoë Öz",
            "similarity": 1.0,
            "runner_up": None,
            "runner_up_similarity": None,
        }
    ]


def test_enroll_when_given_its_own_file_then_added_to_it(
    call: Call, talk: Path, tmp_path: Path
) -> None:
    voices, more = tmp_path / "voices.json", _wav(tmp_path / "more.wav", tone(10.0))
    call("enroll", f"Anna={talk}", "-o", voices)
    called = call("enroll", voices, f"Ben={talk}", f"Anna={more}", f"Anna={talk}", "-o", voices)
    assert called.code == 0
    document = _json(voices)
    assert [(v["name"], v["clean_s"], len(v["clips"])) for v in document["voices"]] == [
        ("Anna", 19.0, 2),
        ("Ben", 9.0, 1),
    ]


def test_enroll_when_a_clip_is_silent_then_one_line_and_the_others_are_stored(
    call: Call, talk: Path, tmp_path: Path
) -> None:
    silent = _wav(tmp_path / "silent.wav", np.zeros(RATE_HZ, np.float32))
    voices = tmp_path / "voices.json"
    called = call("enroll", f"Anna={silent}", f"Ben={talk}", "-o", voices, "-q")
    assert called.code == ExitCode.SOME_FAILED
    assert called.err_lines == [
        f"Anna: failed: {silent}: no speech found; give a clip in which one person talks"
    ]
    assert [voice["name"] for voice in _json(voices)["voices"]] == ["Ben"]


def test_enroll_when_no_clip_is_usable_then_code_3_and_no_file(call: Call, tmp_path: Path) -> None:
    silent = _wav(tmp_path / "silent.wav", np.zeros(RATE_HZ, np.float32))
    called = call("enroll", f"Anna={silent}", "-o", tmp_path / "voices.json")
    assert called.code == ExitCode.NOTHING_PROCESSED
    assert _names(tmp_path) == ["silent.wav"]


def test_enroll_when_the_output_is_the_clip_then_code_2(call: Call, talk: Path) -> None:
    before = talk.read_bytes()
    called = call("enroll", f"Anna={talk}", "-o", talk)
    assert called.code == ExitCode.USAGE
    assert "would overwrite the input" in called.err
    assert talk.read_bytes() == before


def test_enroll_when_the_file_holds_no_voices_then_it_is_kept_and_code_2(
    call: Call, talk: Path, tmp_path: Path
) -> None:
    other = tmp_path / "ben.wav"  # "Ben=" was forgotten
    other.write_bytes(b"a recording")
    called = call("enroll", f"Anna={talk}", "-o", other)
    assert called.code == ExitCode.USAGE
    (line,) = called.err_lines
    assert line.startswith("murmur: -o would overwrite")
    assert line.endswith("give another one, or remove it")
    assert other.read_bytes() == b"a recording"


def test_transcribe_when_a_voice_is_known_then_its_name_in_every_file(
    call: Call, stages: FakeStages, talk: Path
) -> None:
    stages.recogniser = Ready(SpeaksThreeWords())
    called = call(
        *("transcribe", "--device", "cpu", talk, "--enroll", f"Jane Roe={talk}", "-f", "all")
    )
    assert called.code == 0
    for ending, text in {
        ".rttm": " Jane%20Roe ",
        ".stm": " Jane%20Roe ",
        ".srt": "Jane Roe: one",
        ".vtt": "Jane Roe: one",
        ".txt": "Jane Roe: one",
        ".seglst.json": '"Jane Roe"',
        ".json": '"speaker": "Jane Roe"',
    }.items():
        assert text in talk.with_suffix(ending).read_text("utf-8"), ending


def test_transcribe_when_a_clip_to_know_is_silent_then_code_2_and_nothing_is_transcribed(
    call: Call, stages: FakeStages, talk: Path, tmp_path: Path
) -> None:
    recogniser = SpeaksThreeWords()
    stages.recogniser = Ready(recogniser)
    silent = _wav(tmp_path / "silent.wav", np.zeros(RATE_HZ, np.float32))
    called = call("transcribe", "--device", "cpu", talk, "--enroll", f"Anna={silent}")
    assert called.code == ExitCode.USAGE
    (line,) = called.err_lines
    assert line.startswith(f"murmur: --enroll Anna={silent}: no speech found")
    assert recogniser.recordings == []


def test_transcribe_when_speakers_are_not_wanted_but_known_then_code_2(
    call: Call, talk: Path
) -> None:
    called = call(
        *("transcribe", "--device", "cpu", talk, "--no-diarize", "--enroll", f"Anna={talk}")
    )
    assert called.code == ExitCode.USAGE
    assert "--enroll names speakers; do not give --no-diarize with it" in called.err


# --- channels ---------------------------------------------------------------------------------


@pytest.fixture
def two_channels(tmp_path: Path) -> Path:
    people = in_turns(babble(6.0, 1), babble(6.0, 2), 1.5)
    return _wav(tmp_path / "call.wav", with_bleed(*people, -20.0))


def test_channels_when_people_have_one_each_then_the_json_says_who_is_in_which(
    call: Call, two_channels: Path
) -> None:
    called = call("diarize", two_channels, "-v")
    assert "call: the channels hold different people; each is heard by itself" in called.err
    document = _json(two_channels.with_suffix(".json"))
    assert document["audio"]["mix"] == "split"
    assert [(row["speaker"], row["channel"]) for row in document["speakers"]] == [
        ("SPEAKER_00", 1),
        ("SPEAKER_01", 2),
    ]
    assert [chunk["channel"] for chunk in document["chunks"]] == [1, 2]
    # The channel field of RTTM is that of the one merged result.
    rows = two_channels.with_suffix(".rttm").read_text("utf-8").splitlines()
    assert {row.split()[2] for row in rows} == {"1"}


def test_channels_when_alike_and_split_is_asked_then_a_warning(call: Call, tmp_path: Path) -> None:
    path = _wav(tmp_path / "dual.wav", np.stack([tone(2.0)] * 2, axis=1))
    called = call("diarize", path, "--channels", "split")
    assert called.code == 0
    assert "warning" in called.err_lines[0]
    assert "--channels split: the channels hold the same sound" in called.err_lines[0]
