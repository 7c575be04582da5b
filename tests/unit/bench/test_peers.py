"""A recipe from start to end on a tiny random model, without and with stand-in peers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import soundfile

from murmur_cli.bench import contender_process, peers
from murmur_cli.bench.engine_report import EngineRequest
from murmur_cli.bench.peers import main, parse_parts, run_recipe
from murmur_cli.bench.recipe import Contender, EnginePart, JobPart, Recipe, ScalingPart
from murmur_cli.errors import ExitCode, UsageError
from support.tiny_folder import write_tiny_folder

PEER = """
import time
from murmur_cli.bench.json_lines import clocked, serve

def run(request):
    answer = {"excluded_s": 0.0, "peak_bytes": 1000, "results": []}
    with clocked(answer):
        for audio in request["audio"]:
            words = [(0.1, 0.4, "hello"), (0.5, 0.9, "there")]
            answer["results"].append({"words": words, "turns": [(0.0, 1.0, "S1")]})
    return answer

serve({"open": lambda request: {"remark": "stand-in", "versions": {"x": "1"}}, "run": run})
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_folder(tmp_path_factory.mktemp("tiny")))


@pytest.fixture(scope="module")
def talk(sample_wav: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real speech, shorter than the 2 s that the tiny model takes, with references beside it."""
    path = tmp_path_factory.mktemp("talk") / "talk.wav"
    samples, rate_hz = soundfile.read(sample_wav, start=7 * 16_000, stop=7 * 16_000 + 28_800)
    soundfile.write(path, samples, rate_hz)
    path.with_suffix(".stm").write_text("talk 1 A 0.1 0.8 hello there\n")
    path.with_suffix(".rttm").write_text("SPEAKER talk 1 0.1 1.6 <NA> <NA> A <NA> <NA>\n")
    return path


def job(baseline: str) -> JobPart:
    return JobPart(
        baseline,
        [
            Contender("ours", "murmur", {"batch_size": 2}),
            Contender("wrong", "murmur", {"evict": "spech"}),
            Contender("theirs", "faster-whisper", {"batch_size": 16}, rounds=1),
            Contender("unheard", "slower-whisper"),
        ],
        rounds=2,
    )


def test_engine_part_when_run_then_it_decodes_the_recordings(
    talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []

    def listen(asked: EngineRequest, watch: object) -> None:
        heard.extend(soundfile.info(path).frames for path in asked.audio)
        raise UsageError("heard enough")

    monkeypatch.setattr(peers, "engine_report", listen)
    recipe = Recipe("own", "whisper-base", "en", 1, engine=EnginePart(["none", "align"], 1, 8, 2))
    with pytest.raises(UsageError, match="heard enough"):
        run_recipe(recipe, [talk], None, ("engine",), lambda text: None)
    assert heard == [28_800]


@pytest.mark.slow
def test_recipe_when_there_are_no_peers_then_their_rows_say_so(model: str, talk: Path) -> None:
    recipe = Recipe(
        "own", model, "en", 1, recogniser=job("ours"), scaling=ScalingPart(0.9, 0.0, [2])
    )
    said: list[str] = []
    parts = ("recogniser", "whole", "scaling")
    report = run_recipe(recipe, [talk], None, parts, said.append)
    recogniser, scaling = report.parts
    ours, wrong, theirs, unheard = recogniser.rows
    assert len(ours.samples_s) == 2
    assert isinstance(ours.figures["wer_percent"], float)
    assert wrong.not_run is not None
    assert "did you mean speech?" in wrong.not_run
    assert theirs.not_run is not None
    assert "make bench-peers" in theirs.not_run
    assert unheard.not_run is not None
    assert "unknown tool 'slower-whisper'" in unheard.not_run
    assert recogniser.times_faster(ours) == 1.0
    assert [row.figures["audio_s"] for row in scaling.rows] == [pytest.approx(1.8)]
    assert said


@pytest.mark.slow
def test_recipe_when_a_peer_answers_then_its_errors_stand_beside_ours(
    model: str, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(PEER)
    monkeypatch.setattr(contender_process, "PEER_WORKER", worker)
    monkeypatch.setitem(contender_process.PEER_WEIGHTS, "faster-whisper", lambda name: tmp_path)
    recipe = Recipe("own", model, "en", 1, whole=job("theirs"))
    report = run_recipe(recipe, [talk], Path(sys.executable), ("whole",), lambda text: None)
    (whole,) = report.parts
    theirs = whole.rows[2]
    assert len(theirs.samples_s) == 1
    assert theirs.figures["peak_bytes"] == 1000
    for key in ("wer_percent", "cpwer_percent", "der_percent"):
        assert isinstance(theirs.figures[key], float), key
    assert whole.times_faster(whole.rows[0]) is not None
    assert "stand-in" in report.remarks


def test_parts_when_named_then_in_the_order_of_a_recipe() -> None:
    assert parse_parts("curve, engine") == ("engine", "curve")
    with pytest.raises(UsageError, match=r"did you mean whole\?"):
        parse_parts("hole")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--audio", "a.wav", "--peers", "nowhere/python"], "no such file"),
        ([], "no audio"),
        (["--audio", "missing.wav"], "missing.wav"),
        (["--only", "al"], "unknown part"),
    ],
)
def test_main_when_wrong_then_one_line_and_its_exit_code(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    recipe = Path(__file__).parents[3] / "recipes" / "bench" / "quick.toml"
    with pytest.raises(SystemExit) as ending:
        main([str(recipe), *arguments])
    assert ending.value.code in (ExitCode.USAGE, ExitCode.SOME_FAILED)
    error = capsys.readouterr().err.strip()
    assert error.startswith("bench: ")
    assert message in error
    assert "\n" not in error


@pytest.mark.slow
def test_main_when_done_then_files_hold_no_path(
    model: str, talk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "own.toml"
    recipe.write_text(
        f"name = 'own'\nmodel = '{model}'\nlanguage = 'en'\nthreads = 1\n"
        "[engine]\nevict = ['both']\nrounds = 1\nsteps = 4\nbatch_size = 2\n"
        "[curve]\nrounds = 1\nsteps = 4\nbatch_size = 2\n"
        "[[curve.setting]]\nevict = 'speech'\noptions = { window = 20, delay = 0 }\n"
    )
    main([str(recipe), "--audio", str(talk), "-o", str(tmp_path / "made")])
    assert "Eviction: words against steps" in capsys.readouterr().out
    text = (tmp_path / "made" / "bench.json").read_text("utf-8")
    assert str(tmp_path) not in text
    assert model not in text
    engine, curve = json.loads(text)["parts"]
    assert [row["name"] for row in engine["rows"]] == ["none", "both"]
    assert [row["name"] for row in curve["rows"]] == ["none", "speech window=20 delay=0"]
    assert curve["rows"][1]["figures"]["share_read"] <= 1.0
