"""A corpus from start to end, with stand-ins for the program; what cannot be had is one line."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from data import benchmark
from data.corpus import corpus_of, read_corpus
from data.fetch import FetchError, fetch, fetch_archives
from data.prepare import KINDS, get
from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.recipe_file import SHIPPED, RecipeFile

STAND_IN = """
import json, pathlib, sys
command, *rest = sys.argv[1:]
if command == "transcribe":
    out = pathlib.Path(rest[rest.index("-o") + 1])
    done = 0
    for name in rest[: rest.index("--recipe")]:
        path = pathlib.Path(name)
        (out / "calls.txt").open("a").write(path.stem + chr(10))
        if path.stem != "bad":
            (out / (path.stem + ".json")).write_text(json.dumps({"audio": {"duration_s": 30.0}}))
    sys.exit(1 if any("bad" in name for name in rest) else 0)
print(json.dumps({"pooled": {"metrics": {"wer": {"percent": 34.584}, "tcpwer": {"percent": 46.1}}},
                  "normalizer": {"name": "whisper"}, "collar_s": 5.0}))
"""
RECIPE = """
name = "own"
[transcribe]
language = "en"
[data]
corpus = "Own corpus"
licence = "none"
page = "none"
folder = "nowhere"
kind = "ready"
expected = 3
metrics = ["wer", "tcpwer"]
[[published]]
system = "single pass"
tcpwer = 25.68
seconds = 370.7
note = "by others"
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    import sys

    program = tmp_path / "program.py"
    program.write_text(STAND_IN)
    monkeypatch.setattr(benchmark, "MURMUR", (sys.executable, str(program)))
    recipe = tmp_path / "own.toml"
    recipe.write_text(RECIPE)
    folder = tmp_path / "audio"
    folder.mkdir()
    for name in ("a", "bad"):
        (folder / f"{name}.wav").touch()
        (folder / f"{name}.stm").touch()
    (folder / "without_reference.wav").touch()

    def run(*more: str) -> int:
        arguments = [str(recipe), "--data", str(folder), "--out", str(tmp_path / "out"), *more]
        with pytest.raises(SystemExit) as ending:
            benchmark.main(arguments)
        return int(ending.value.code or 0)

    return run


def test_benchmark_when_a_session_fails_then_it_is_counted_and_named(
    call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call() == ExitCode.SOME_FAILED
    lines = capsys.readouterr().out.splitlines()
    wall_s = json.loads((tmp_path / "out" / "own" / "run.json").read_text())["wall_s"]
    assert lines[2] == "| system | WER | tcpWER | seconds | sessions | failed |"
    assert lines[4] == f"| Murmur, this run | 34.58 | 46.10 | {wall_s:.1f} | 2 | 1 |"
    assert lines[5] == "| single pass | - | 25.68 | 370.7 |  |  |"
    assert "2 sessions, the list has 3." in lines
    assert "Failed, counted as left out: bad." in lines
    assert "single pass: by others" in lines


def test_benchmark_when_called_again_then_only_what_failed_is_transcribed(
    call, tmp_path: Path
) -> None:
    call()
    call()
    calls = tmp_path / "out" / "own" / "transcripts" / "calls.txt"
    assert calls.read_text().split() == ["a", "bad", "bad"]
    assert call("--steps", "score") == ExitCode.SOME_FAILED
    assert calls.read_text().split() == ["a", "bad", "bad"]


def test_benchmark_when_the_options_change_then_everything_is_transcribed_anew(
    call, tmp_path: Path
) -> None:
    call()
    recipe = tmp_path / "own.toml"
    recipe.write_text(RECIPE.replace('"en"', '"de"'))
    call()
    calls = tmp_path / "out" / "own" / "transcripts" / "calls.txt"
    assert calls.read_text().split() == ["a", "bad"]


def test_benchmark_when_the_data_is_not_there_then_one_line_and_code_3(
    call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(tmp_path / "audio")
    assert call() == ExitCode.NOTHING_PROCESSED
    (line,) = capsys.readouterr().err.splitlines()
    assert "Own corpus: no folder" in line


def test_fetch_when_it_cannot_be_had_then_one_line_that_says_where_to_put_it(
    tmp_path: Path,
) -> None:
    url = (tmp_path / "missing.wav").as_uri()
    with pytest.raises(FetchError, match=r"a\.wav cannot be fetched from file:.*by hand") as failed:
        fetch(url, tmp_path / "made" / "a.wav")
    assert failed.value.exit_code is ExitCode.NOTHING_PROCESSED
    assert "\n" not in str(failed.value)


def test_fetch_when_the_checksum_differs_then_the_file_is_not_there(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text("a")
    with pytest.raises(FetchError, match="has SHA-256 ca978112"):
        fetch(source.as_uri(), tmp_path / "made" / "a.txt", "0" * 64)
    assert not (tmp_path / "made" / "a.txt").exists()


def test_archives_when_fetched_then_unpacked_once(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "words.zip", "w") as packed:
        packed.writestr("words/a.xml", "<a/>")
    url = (tmp_path / "words.zip").as_uri()
    fetch_archives((url,), tmp_path / "made", {})
    assert (tmp_path / "made" / "words" / "a.xml").read_text() == "<a/>"
    (tmp_path / "words.zip").unlink()
    fetch_archives((url,), tmp_path / "made", {})


def test_get_when_something_must_be_fetched_by_hand_then_it_says_what(tmp_path: Path) -> None:
    _, corpus = read_corpus("earnings21")
    with pytest.raises(FetchError, match="git clone"):
        get(corpus, tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "no recipe of a corpus"),
        ({"corpos": "x"}, "did you mean corpus"),
        ({"corpus": "x"}, "'licence' is missing"),
        ({"corpus": 3}, "must be of type str"),
        ({"sessions": "a"}, "list of texts"),
    ],
)
def test_corpus_when_wrong_then_one_line(data: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        corpus_of(RecipeFile("own", "", {}, data=data))


CORPORA = ("ami-ihm", "ami-sdm", "ami-mini", "tedlium3", "earnings21", "ls-long", "mls-long")


@pytest.mark.parametrize("name", CORPORA)
def test_shipped_corpus_when_read_then_whole(name: str) -> None:
    recipe, corpus = read_corpus(name)
    assert recipe.name == name
    assert corpus.kind in KINDS
    assert set(corpus.metrics) <= set(benchmark.NAMES)
    assert not corpus.sessions or len(set(corpus.sessions)) == corpus.expected
    for row in recipe.published:
        assert {"system"} <= set(row) <= {"system", "seconds", "note", *benchmark.NAMES}


@pytest.mark.parametrize("name", CORPORA)
def test_shipped_corpus_when_run_dry_then_it_says_what_and_nothing_happens(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The calls are those of the recipe; test_recipe.py proves that the program takes them."""
    _, corpus = read_corpus(name)
    data, out = tmp_path / "data", tmp_path / "out"
    with pytest.raises(SystemExit) as ending:
        benchmark.main([name, "--data", str(data), "--out", str(out), "--dry"])
    assert ending.value.code == ExitCode.OK
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"{corpus.corpus} ({corpus.licence}), {corpus.page}"
    fetched = [line for line in told if line.startswith("fetch: https://")]
    assert len(fetched) == len(corpus.archives) + (corpus.expected if corpus.audio_url else 0)
    assert told[-2].startswith(f"murmur transcribe {data}")
    assert told[-1].startswith(f"murmur score {data}")
    assert f"--recipe {SHIPPED / name}.toml" in told[-1]
    assert list(tmp_path.iterdir()) == []


def test_benchmark_when_the_results_cannot_be_written_then_one_line(
    call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("mine")
    assert call() == ExitCode.USAGE
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_benchmark_when_its_record_was_damaged_then_one_line(
    call, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call()
    (tmp_path / "out" / "own" / "run.json").write_text("{")
    capsys.readouterr()
    assert call() == ExitCode.USAGE
    (line,) = capsys.readouterr().err.splitlines()
    assert "run.json: not JSON" in line
    assert "delete it" in line
