"""`--recipe`: the shipped ones are taken by the commands; options of the call win."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import soundfile

from murmur_cli.errors import ExitCode
from murmur_cli.models.choice import ModelChoice, ModelKind
from murmur_cli.recipe_file import SHIPPED, read_recipe
from murmur_cli.settings import TranscribeSettings
from support.fake_stages import FakeStages, Ready, SpeaksThreeWords
from support.media_files import RATE_HZ, tone
from support.murmur_call import Called, call_main

RECIPES = sorted(SHIPPED.glob("*.toml"))


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk.wav"
    soundfile.write(path, tone(2.0), RATE_HZ)
    return path


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[TranscribeSettings]:
    """Settings of the calls, none of which runs."""
    settings: list[TranscribeSettings] = []

    def take(audio: object, given: TranscribeSettings, *_: object) -> ExitCode:
        settings.append(given)
        return ExitCode.OK

    monkeypatch.setattr("murmur_cli.commands.transcribe.run_recordings", take)
    return settings


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_shipped_recipe_when_given_then_its_options_are_taken(
    path: Path, made: list[TranscribeSettings], capsys: pytest.CaptureFixture[str]
) -> None:
    called = call_main(capsys, "transcribe", "x.wav", "--recipe", path.stem)
    assert (called.code, called.err) == (ExitCode.OK, "")
    (settings,) = made
    table = read_recipe(path).options["transcribe"]
    assert settings.chunk_s == float(table["chunk"])
    assert settings.model == table.get("model", "auto")
    assert settings.language == table.get("language")
    assert settings.diarize == table.get("diarize", True)


def test_recipe_when_an_option_is_given_too_then_it_wins(
    tmp_path: Path, made: list[TranscribeSettings], capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text(
        "[transcribe]\nchunk = 60\nevict = 'speech'\nevict_opt = ['window=9', 'delay=1']\n"
        "format = 'txt'\ndiarize = false\nmax_speakers = 3\n"
    )
    call_main(capsys, "transcribe", "x.wav", "--recipe", recipe, "--chunk", "90", "--diarize")
    (settings,) = made
    assert settings.chunk_s == 90.0
    assert settings.diarize
    assert settings.evict_options == {"window": "9", "delay": "1"}
    assert settings.formats == ("txt",)
    assert settings.hints.maximum == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[transcribe]\nchunc = 3\n", "transcribe has no option 'chunc' (did you mean chunk?)"),
        ("[transcribe]\noutput = 'x'\n", "transcribe has no option 'output'"),
        ("[transcribe]\nchunk = [1, 2]\n", "'chunk' takes one value"),
        ("[transcribe]\nbatch_size = true\n", "'batch_size' is no switch; give its value"),
    ],
)
def test_recipe_when_wrong_then_one_line_and_code_2(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text(text)
    called = call_main(capsys, "transcribe", "x.wav", "--recipe", recipe)
    assert called.code == ExitCode.USAGE
    (line,) = called.err_lines
    assert message in line


def test_score_when_a_recipe_is_given_then_its_table_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ref.stm").write_text("s 1 A 0 1 well um yes\n")
    (tmp_path / "hyp.stm").write_text("s 1 A 0 1 well yes\n")
    recipe = tmp_path / "own.toml"
    recipe.write_text("[score]\nkeep_fillers = true\ncollar = 3\n")
    options = ["score", tmp_path / "ref.stm", tmp_path / "hyp.stm", "--format", "json"]
    called = call_main(capsys, *options, "--recipe", recipe)
    document = json.loads(called.out)
    assert document["collar_s"] == 3.0
    assert document["pooled"]["metrics"]["wer"]["deletions"] == 1


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, talk: Path
):  # type: ignore[no-untyped-def]
    """'--chunk auto' with stand-ins for the stages; gives the plan's rule."""
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        "murmur_cli.batch.start_stages", FakeStages(Ready(SpeaksThreeWords())).start
    )
    choice = ModelChoice("stand-in", ModelKind.EMBEDDED, Path("/nowhere"), "a test")
    monkeypatch.setattr("murmur_cli.models.choice.choose_model", lambda name, device: choice)

    def call(*options: str | Path) -> str:
        called: Called = call_main(
            *(capsys, "transcribe", talk, "--device", "cpu", "--chunk", "auto"),
            *("--format", "json", "-o", "-", *options),
        )
        assert called.code == ExitCode.OK, called.err
        return str(json.loads(called.out)["chunking"]["rule"])

    return call


# A steady tone without pauses: nothing tells it from noise.
CURVE = "[[chunk_curve]]\nmodel = '{}'\nkind = 'noisy'\nchunk = 1.0\n"


def test_auto_when_a_curve_is_stored_then_it_goes_by_it(run, tmp_path: Path) -> None:
    assert run().startswith("auto: the whole recording of 2 s")
    store = tmp_path / "cache" / "recipes"
    store.mkdir(parents=True)
    (store / "other.toml").write_text(CURVE.format("another"))
    assert run().startswith("auto: the whole recording of 2 s")
    (store / "mine.toml").write_text(CURVE.format("stand-in"))
    assert run() == "auto: at most 1 s, best for stand-in on noisy audio by 'mine'"


def test_auto_when_the_recipe_has_a_curve_then_before_the_store(run, tmp_path: Path) -> None:
    recipe = tmp_path / "given.toml"
    recipe.write_text(CURVE.format("stand-in"))
    assert run("--recipe", recipe).endswith("by 'given'")
