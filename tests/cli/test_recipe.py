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
from support.tiny_folder import write_tiny_folder

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
        ("[transcribe]\nbatch_size = 'many'\n", "recipe own: batch_size = 'many': "),
        ("[transcribe]\nbatch_size = 2.5\n", "recipe own: batch_size = 2.5: "),
        ("[transcribe]\nbatch_size = inf\n", "recipe own: batch_size = inf: "),
        ("[transcribe]\nbatch_size = 0\n", "recipe own: --batch-size 0: give 1 to 4096"),
        ("[transcribe]\ntrack = -1\n", "recipe own: track = -1: "),
        ("[transcribe]\ndiarize = 'maybe'\n", "recipe own: diarize = 'maybe': "),
        ("[transcribe]\ntemperature = 'hot'\n", "recipe own: temperature = 'hot': "),
        ("[transcribe]\ntemperature = 9\n", "recipe own: --temperature 9: give 0 to 2"),
        ("[transcribe]\nchunk = 0.1\n", "recipe own: --chunk 0.1: give at least 1 seconds"),
        ("[transcribe]\nchunk = 'long'\n", "recipe own: --chunk long: give seconds, 'auto' or"),
        ("[transcribe]\nevict_opt = [1]\n", "recipe own: --evict-opt 1: write KEY=VALUE"),
        ("[transcribe]\nformat = 'srtt'\n", "recipe own: --format srtt: unknown format (did you"),
        ("[transcribe]\nprecision = 'int4'\n", "recipe own: --precision int4: known are"),
        ("[transcribe]\ndiarize = false\nspeakers = 2\n", "recipe own: counts of speakers help"),
        ("[transcribe]\nenroll_threshold = 7\n", "recipe own: --enroll-threshold 7: give more"),
        ("[transcribe]\nenroll = 'a'\n", "recipe own: --enroll a: "),
        ("[transcribe]\nhotwords_file = 'no'\n", "recipe own: --hotwords-file no: No such file"),
        ("name = 'mine'\n[transcribe]\nspeakers = 0\n", "recipe mine: --speakers 0: give 1 or"),
        ("[transcribe]\ntask = 'sing'\nchunk = 30\n", "recipe own: --task sing: known tasks are"),
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


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("evict = 'C3R'", ExitCode.USAGE, "recipe own: --evict C3R: unknown policy (did you mean"),
        (
            "evict = 'c3r'\nevict_opt = 'refresh=x'",
            ExitCode.USAGE,
            "recipe own: --evict-opt refresh=x: give a whole number",
        ),
        ("device = 'gpu'", ExitCode.USAGE, "recipe own: --device gpu: give auto, cpu"),
        ("model = 'a/b'", ExitCode.MODEL_MISSING, "recipe own: a/b is not in the hub's cache"),
        ("model = './no'", ExitCode.MODEL_MISSING, "recipe own: --model ./no: there is no such"),
        ("model = 'whisper-bse'", ExitCode.MODEL_MISSING, "recipe own: --model whisper-bse: unk"),
        ("model = './folder'", ExitCode.MODEL_MISSING, "recipe own: ./folder: "),
        (
            "model = './whisper'\nevict = 'c3r'\nkv_budget = 'auto'\n[[kv_budget]]\n"
            "model = '{folder}/whisper'\nmean = 0.1\nshares = [[0.1], [0.1], [0.1]]",
            ExitCode.USAGE,
            "recipe own: --kv-budget: has shares for 3 layers of 1 KV heads, and the model has 2",
        ),
    ],
)
def test_recipe_when_a_value_shows_wrong_later_then_it_is_named_too(
    text: str,
    code: ExitCode,
    message: str,
    tmp_path: Path,
    talk: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    Path("folder").mkdir()
    write_tiny_folder(Path("whisper"))
    text = text.replace("{folder}", str(tmp_path))
    Path("own.toml").write_text(f"[transcribe]\n{text}\n")
    called = call_main(capsys, "transcribe", talk, "--recipe", "own.toml", "--no-diarize")
    assert called.code == code
    (line,) = called.err_lines
    assert line.startswith(f"murmur: {message}")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("chunk = 30\nbatch_size = 4", ["--chunk", "0"], "murmur: --chunk 0: give at least 1"),
        ("evict = 'c3r'", ["--evict", "xyz"], "murmur: --evict xyz: unknown policy; known: "),
        ("model = 'whisper-base'", ["--evict", "xyz"], "murmur: --evict xyz: unknown policy; kn"),
        ("speakers = 2", ["--device", "gpu"], "murmur: --device gpu: give auto, cpu"),
        # Both are at fault, one of them the recipe's.
        ("kv_budget = '9'", ["--evict-opt", "budget=8"], "murmur: recipe own: --kv-budget and"),
        ("speakers = 2", ["--no-diarize"], "murmur: counts of speakers help to find them; do not"),
    ],
)
def test_recipe_when_the_call_is_wrong_then_it_is_not_blamed(
    text: str,
    options: list[str],
    message: str,
    tmp_path: Path,
    talk: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text(f"[transcribe]\n{text}\n")
    called = call_main(capsys, "transcribe", talk, "--recipe", recipe, *options)
    assert called.code == ExitCode.USAGE
    assert called.err_lines[-1].startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("collar = 'wide'", "recipe own: collar = 'wide': "),
        ("collar = -1", "recipe own: --collar -1: give seconds, 0 or more"),
        ("norm = 'Basic'", "recipe own: --norm Basic: unknown (did you mean basic?)"),
        ("format = 'xml'", "recipe own: --format xml: unknown; known are table, json, csv"),
        ("exclude = 'x'", "recipe own: --exclude x: no reference of that session"),
        ("uem = 'nowhere.uem'", "recipe own: nowhere.uem: "),
        ("quiet = true", "recipe own: score has no option 'quiet'"),
    ],
)
def test_score_when_a_value_of_its_recipe_is_wrong_then_one_line_that_names_it(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ref.stm", "hyp.stm"):
        (tmp_path / name).write_text("s 1 A 0 1 well yes\n")
    recipe = tmp_path / "own.toml"
    recipe.write_text(f"[score]\n{text}\n")
    called = call_main(
        capsys, "score", tmp_path / "ref.stm", tmp_path / "hyp.stm", "--recipe", recipe
    )
    assert called.code == ExitCode.USAGE
    (line,) = called.err_lines
    assert line.startswith(f"murmur: {message}")


def test_recipe_when_it_has_a_threshold_and_no_voices_then_taken_for_calls_that_have_some(
    tmp_path: Path, made: list[TranscribeSettings], capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text("[transcribe]\nenroll_threshold = 0.4\n")
    assert call_main(capsys, "transcribe", "x.wav", "--recipe", recipe).code == ExitCode.OK
    assert made[0].enroll_threshold == 0.4
    called = call_main(
        capsys, "transcribe", "x.wav", "--recipe", recipe, "--enroll-threshold", "0.3"
    )
    assert called.code == ExitCode.USAGE
    assert called.err_lines[-1].startswith("murmur: --enroll-threshold 0.3: there is no known")


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
