"""`--evict voxzip` on a SpeechLLM: the embedded Whisper's words group its speech."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from murmur_cli.errors import ExitCode
from support.media_files import write_excerpt
from support.murmur_call import call_main
from support.tiny_speech_llms.vibevoice import write_vibevoice_folder

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.filterwarnings("ignore"),  # the library's own, about tiny configurations
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_wav: Path) -> Path:
    """A tiny random VibeVoice, and some seconds of real speech."""
    folder = tmp_path_factory.mktemp("user")
    write_vibevoice_folder(folder / "model")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "config.json").write_text('{"model_type": "whisper"}', encoding="utf-8")
    write_excerpt(sample_wav, folder / "talk.wav", 7.0, 17.0)
    return folder


def test_voxzip_when_the_model_is_a_speech_llm_then_whispers_words_group_its_speech(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    called = call_main(
        capsys, "transcribe", "talk.wav", "--model", "./model", "--device", "cpu", "--evict",
        "voxzip", "--evict-opt", "confidence=0.2", "-o", str(tmp_path), "-f", "json",
        "--no-diarize",
    )  # fmt: skip
    assert called.code == ExitCode.OK, called.err
    document = json.loads((tmp_path / "talk.json").read_text(encoding="utf-8"))
    (note,) = [line for line in document["notes"] if line.startswith("voxzip")]
    numbers = re.fullmatch(
        r"voxzip stage 1: (\d+) anchors of whisper-base; where they lie, (\d+) speech entries "
        r"became (\d+)",
        note,
    )
    assert numbers is not None, note
    anchors, encoded, left = map(int, numbers.groups())
    assert anchors >= 1
    assert 0 < left <= encoded


def refuse_to_load(*_: object) -> None:
    raise AssertionError("a model is being loaded")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--model", "whisper-base", "--evict-opt", "stages=1"), ExitCode.USAGE, "stages=2 is"),
        (
            ("--model", "./model", "--evict-opt", "anchor_model=./model"),
            ExitCode.MODEL_MISSING,
            "anchors come from a Whisper",
        ),
        (
            ("--model", "./model", "--evict-opt", "anchor_model=whisper-bas"),
            ExitCode.MODEL_MISSING,
            "--evict-opt anchor_model=whisper-bas: unknown; did you mean whisper-base?",
        ),
        (
            ("--model", "./model", "--evict-opt", "anchor_model=./nowhere"),
            ExitCode.MODEL_MISSING,
            "--evict-opt anchor_model=./nowhere: there is no such folder",
        ),
        (
            ("--model", "./model", "--evict-opt", "anchor_model=./damaged"),
            ExitCode.MODEL_MISSING,
            "murmur: --evict-opt anchor_model=./damaged: ",
        ),
        (
            ("--model", "./model", "--evict-opt", "anchor_model=segmentation-3.0"),
            ExitCode.MODEL_MISSING,
            "--evict-opt anchor_model=segmentation-3.0: segmentation-3.0 is for",
        ),
    ],
)
def test_voxzip_when_it_cannot_be_then_one_line(
    options: tuple[str, ...],
    code: ExitCode,
    message: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("murmur_cli.stages.recogniser_for", refuse_to_load)
    called = call_main(
        capsys, "transcribe", "talk.wav", "--device", "cpu", "--evict", "voxzip",
        "-o", str(tmp_path), "-f", "json", "--no-diarize", *options,
    )  # fmt: skip
    assert called.code == code, called.err
    assert message in called.err.splitlines()[-1]
