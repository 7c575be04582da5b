"""`murmur calibrate`, and `transcribe --kv-budget auto` with what it wrote; tiny random models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.errors import ExitCode
from murmur_cli.recipe_file import read_recipe
from support.media_files import write_excerpt
from support.murmur_call import call_main
from support.tiny_folder import write_tiny_folder
from support.tiny_speech_llms.vibevoice import write_vibevoice_folder

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.filterwarnings("ignore"),  # the library's own, about tiny configurations
]

RATE = 16_000
WRITERS = {"whisper": write_tiny_folder, "vibevoice": write_vibevoice_folder}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_wav: Path) -> Path:
    """Two models, and as much real speech as the tiny Whisper hears at once."""
    folder = tmp_path_factory.mktemp("user")
    for name, write in WRITERS.items():
        write(folder / name)
    write_excerpt(sample_wav, folder / "talk.wav", 7.0, 8.5)
    sf.write(folder / "silence.wav", np.zeros(RATE), RATE)
    return folder


def refuse_to_load(*_: object) -> None:
    raise AssertionError("a model is being loaded")


@pytest.mark.parametrize("model", WRITERS)
def test_calibrate_when_done_then_transcribe_takes_its_budgets(
    model: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    recipe = tmp_path / "own.toml"
    called = call_main(
        capsys, "calibrate", "talk.wav", "--model", f"./{model}", "--mean", "0.2",
        "--chunk", "3", "--write-recipe", str(recipe), "--device", "cpu",
    )  # fmt: skip
    assert called.code == ExitCode.OK, called.err
    assert f"wrote {recipe}; use it: murmur transcribe --recipe {recipe}" in called.err
    assert called.out.splitlines()[0].split("  ")[0] == "layer"
    (measured,) = read_recipe(recipe).kv_shares
    shares = [share for layer in measured.shares for share in layer]
    assert len(called.out.splitlines()) == 1 + sum(bool(layer) for layer in measured.shares)
    assert sum(shares) / len(shares) == pytest.approx(0.2, abs=1e-4)

    called = call_main(
        capsys, "transcribe", "talk.wav", "--recipe", str(recipe), "--chunk", "3", "-o",
        str(tmp_path), "-f", "json", "--no-diarize", "--device", "cpu",
    )  # fmt: skip
    assert called.code == ExitCode.OK, called.err
    document = json.loads((tmp_path / "talk.json").read_text(encoding="utf-8"))
    options = document["run"]["options"]
    assert options["evict"] == "c3r"
    assert [float(one) for one in options["kv_budget"].replace(";", ",").split(",")] == shares
    assert "kv_shares" not in options


def test_calibrate_when_quiet_then_only_the_recipe(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    recipe = tmp_path / "own.toml"
    called = call_main(
        capsys, "calibrate", "talk.wav", "--model", "./whisper", "--chunk", "3", "-q",
        "--write-recipe", str(recipe), "--device", "cpu",
    )  # fmt: skip
    assert (called.code, called.out, called.err) == (ExitCode.OK, "", "")
    assert read_recipe(recipe).kv_shares


def test_calibrate_when_there_is_no_speech_then_usage_error_and_no_recipe(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    recipe = tmp_path / "own.toml"
    called = call_main(
        capsys, "calibrate", "silence.wav", "--model", "./whisper", "--write-recipe", str(recipe)
    )
    assert called.code == ExitCode.USAGE
    assert called.err.splitlines()[-1].endswith(
        "murmur calibrate: no speech was found; give a recording with speech"
    )
    assert not recipe.exists()


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("missing.wav",), "missing.wav: cannot be read (No such file or directory)"),
        (("talk.wav", "missing.wav"), "missing.wav: cannot be read (No such file or directory)"),
        (("folder.wav",), "folder.wav: not readable as audio (it is a folder)"),
        (("empty.wav",), "empty.wav: "),
        (("junk.wav", "talk.wav"), "junk.wav: not readable as audio"),
    ],
)
def test_calibrate_when_a_recording_cannot_be_read_then_code_3_before_a_model_loads(
    names: tuple[str, ...],
    reason: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "folder.wav").mkdir()
    (tmp_path / "empty.wav").touch()
    (tmp_path / "junk.wav").write_bytes(b"no audio" * 99)
    (tmp_path / "talk.wav").write_bytes((folder / "talk.wav").read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("murmur_cli.stages.recogniser_for", refuse_to_load)
    called = call_main(
        capsys, "calibrate", *names, "--model", str(folder / "whisper"), "--write-recipe", "x.toml"
    )
    assert (called.code, called.out) == (ExitCode.NOTHING_PROCESSED, "")
    (line,) = called.err_lines
    assert line.startswith(f"failed: {reason}")
    assert line.endswith("; no recipe is written")
    assert not Path("x.toml").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--mean", "0"), "--mean 0: give a share above 0 and at most 1"),
        (("--evict", "align"), "--evict align: takes no budgets by head, which are what 'murmur"),
        (("--evict", "none"), "--evict none: takes no budgets by head, which are what 'murmur"),
        (
            ("--evict", "pyramidkv"),
            "murmur: --evict pyramidkv: takes no budgets by head, which are what 'murmur calibrate'"
            " measures; give one of c3, c3r, quest, unique, clusterkv, h2o, snapkv, chunkkv, vox",
        ),
        (("--evict", "PyramidKV+output"), "unknown policy (did you mean pyramidkv+output?)"),
        (("--evict", "pyramidkv+output"), "--evict pyramidkv+output: takes no budgets by head"),
        (("--write-recipe", "./talk.wav"), "./talk.wav: give a name, or a file that ends in .toml"),
        (("--write-recipe", "/proc/x.toml"), "give another one with --write-recipe"),
        (("--evict", "c4"), "--evict c4: unknown policy"),
        (("--evict", "voxzip", "--model", "nothing"), "--model nothing: unknown"),
    ],
)
def test_calibrate_when_called_wrongly_then_one_line(
    options: tuple[str, ...],
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("murmur_cli.stages.recogniser_for", refuse_to_load)
    given = options if "--model" in options else (*options, "--model", "./whisper")
    given = given if "--write-recipe" in given else (*given, "--write-recipe", "x.toml")
    called = call_main(capsys, "calibrate", "talk.wav", *given)
    assert called.code in (ExitCode.USAGE, ExitCode.MODEL_MISSING)
    assert message in called.err.splitlines()[-1]
