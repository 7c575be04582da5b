"""`murmur transcribe` with a SpeechLLM of the user's own folder, through every stage."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from murmur_cli.errors import ExitCode
from support.media_files import write_excerpt
from support.murmur_call import Called, call_main
from support.tiny_speech_llms.vibevoice import write_vibevoice_folder

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.filterwarnings("ignore"),  # the library's own, about tiny configurations
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_wav: Path) -> Path:
    """A tiny random VibeVoice, and two recordings of some seconds of real speech."""
    folder = tmp_path_factory.mktemp("user")
    write_vibevoice_folder(folder / "model")
    write_excerpt(sample_wav, folder / "first.wav", 7.0, 13.0)
    write_excerpt(sample_wav, folder / "second.wav", 13.0, 16.0)
    return folder


def transcribe(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *arguments: str,
) -> Called:
    monkeypatch.chdir(folder)
    common = ("--model", "./model", "--device", "cpu", "--chunk", "3")
    return call_main(capsys, "transcribe", *common, *arguments)


def test_folder_when_given_then_its_garbage_is_valid_and_flagged(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    formats = ("rttm", "srt", "json", "vtt", "txt", "stm", "ctm")
    called = transcribe(
        folder, capsys, monkeypatch, "first.wav", "second.wav", "-o", str(tmp_path),
        "-f", ",".join(formats),
    )  # fmt: skip
    assert called.code == ExitCode.OK, called.err
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.{ending}" for name in ("first", "second") for ending in formats
    }
    schema = json.loads(files("murmur_cli.writers").joinpath("transcript.schema.json").read_text())
    for name in ("first", "second"):
        document = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
        Draft202012Validator(schema).validate(document)
        assert document["chunks"]
        assert document["run"]["models"][1]["name"] == "./model"
        assert document["run"]["device"] == "cpu: bfloat16"
        assert {chunk["word_times"] for chunk in document["chunks"]} == {"spread"}
        for chunk in document["chunks"]:
            assert chunk["flags"]
            assert chunk["rejected"] or chunk["untranscribed"] or chunk["coverage"] > 0


def test_precision_and_batch_size_when_given_then_in_the_record(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = transcribe(
        folder, capsys, monkeypatch, "second.wav", "-o", str(tmp_path), "-f", "json",
        "--precision", "float32", "--batch-size", "1", "--evict", "both", "--no-diarize",
        "--prompt", "Anna, Zoë",
    )  # fmt: skip
    assert called.code == ExitCode.OK, called.err
    document = json.loads((tmp_path / "second.json").read_text(encoding="utf-8"))
    assert document["run"]["device"] == "cpu: float32"
    assert document["run"]["options"]["context"] == "Anna, Zoë"
    assert {chunk["policy"] for chunk in document["chunks"]} == {"both"}
    assert (document["speakers_from"], document["speakers"]) == (None, [])


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("processor_config.json", "", "cannot load as VibeVoice-ASR"),
        ("model.safetensors", "", "cannot load as VibeVoice-ASR"),
        ("tokenizer.json", None, "lacks tokenizer.json"),
        ("config.json", '{"model_type": "bert"}', "models of type 'bert' are not supported"),
        ("config.json", "{", "cannot be read"),
        ("config.json", None, "has no config.json"),
    ],
)
def test_folder_when_damaged_then_one_line_and_no_transcript(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    text: str | None,
    line: str,
) -> None:
    shutil.copytree(folder / "model", tmp_path / "model")
    shutil.copy(folder / "second.wav", tmp_path)
    if text is None:
        (tmp_path / "model" / file).unlink()
    else:
        (tmp_path / "model" / file).write_text(text)
    called = transcribe(tmp_path, capsys, monkeypatch, "second.wav", "--quiet")
    assert called.code == ExitCode.MODEL_MISSING
    assert line in " ".join(called.err.split())
    assert "Traceback" not in called.err
    assert len(called.err_lines) == 1
    assert not (tmp_path / "second.json").exists()


def test_folder_when_its_rope_is_malformed_then_one_line_with_file_and_key(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    damaged = Path(shutil.copytree(folder / "model", tmp_path / "damaged"))
    config = json.loads((damaged / "config.json").read_text(encoding="utf-8"))
    config["text_config"]["rope_parameters"] = ["linear", 2.0]
    (damaged / "config.json").write_text(json.dumps(config), encoding="utf-8")
    called = transcribe(
        folder, capsys, monkeypatch, "first.wav", "-o", str(tmp_path), "--model", str(damaged)
    )
    assert called.code == ExitCode.MODEL_MISSING
    (line,) = called.err_lines
    assert line == (
        f"murmur: {damaged}: {damaged}/config.json: text_config.rope_parameters is ['linear', 2.0],"
        " where a table is due; fetch it anew: murmur models pull"
    )
