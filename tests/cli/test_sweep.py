"""Sweeps from start to end on a tiny random model; going on, failures, wrong calls."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import soundfile

from murmur_cli.bench.worker_process import WorkerError
from murmur_cli.errors import ExitCode
from murmur_cli.sweeps.sweep_worker import SweepWorker
from support.murmur_call import Called, call_main, call_process
from support.tiny_folder import write_tiny_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_folder(tmp_path_factory.mktemp("tiny")))


@pytest.fixture
def talk(sample_wav: Path, tmp_path: Path) -> Path:
    """Real speech, 1.8 s, with a reference beside it."""
    path = tmp_path / "talk.wav"
    samples, rate_hz = soundfile.read(sample_wav, start=7 * 16_000, stop=7 * 16_000 + 28_800)
    soundfile.write(path, samples, rate_hz)
    path.with_suffix(".stm").write_text("talk 1 A 0.1 0.8 hello there\n")
    return path


class InThisProcess:
    """The sweep's worker without a process of its own, which would load torch each time."""

    def __init__(self, *_: object) -> None:
        self._worker = SweepWorker()

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker._stack.close()

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        try:
            return json.loads(json.dumps(getattr(self._worker, op)(request)))
        except Exception as error:
            raise WorkerError(f"{type(error).__name__}: {error}") from error


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("murmur_cli.sweeps.runner.WorkerProcess", InThisProcess)


@pytest.fixture
def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model: str, tmp_path: Path
):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    common = ["--model", model, "--device", "cpu", "--language", "en", "--no-diarize"]
    common += ["-o", str(tmp_path / "sweep")]

    def sweep(command: str, *arguments: str | Path) -> Called:
        return call_main(capsys, command, *arguments, *common)

    return sweep


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.slow
def test_sweep_when_run_in_processes_then_memory_and_stages_are_theirs(
    call, talk: Path, tmp_path: Path
) -> None:
    called = call("sweep-chunks", talk, "--sizes", "full")
    assert called.code == ExitCode.OK, called.err
    (line,) = lines(tmp_path / "sweep")
    assert line["peak_bytes"] > 50e6
    assert {"read", "speech detection", "recognition"} <= set(line["stages_s"])
    assert line["kv"]["steps"] > 0
    assert line["failure"] is None


@pytest.mark.usefixtures("in_this_process")
def test_sweep_when_called_again_with_more_then_only_that_is_run(
    call, talk: Path, tmp_path: Path
) -> None:
    """Sizes beyond the 1.8 s are one run; another repeat and a policy are new ones."""
    folder = tmp_path / "sweep"
    first = call("sweep-chunks", talk, "--ref", talk.with_suffix(".stm"), "--sizes", "1,60,full")
    assert first.code == ExitCode.OK, first.err
    assert "2 runs to do" in first.err
    # Nobody told speakers apart, so nothing is judged by who says what.
    assert first.out.split()[:3] == ["chunk", "WER", "ORC-WER"]
    assert "of the best WER" in first.out.splitlines()[-1]
    assert len(lines(folder)) == 2
    for name in ("sweep.json", "sweep.csv", "sweep.html", "curves.png", "stages.svg"):
        assert (folder / name).stat().st_size > 0
    again = call("sweep-chunks", talk, "--ref", talk.with_suffix(".stm"), "--sizes", "1,60,full")
    assert "0 runs to do, 2 are there" in again.err
    assert again.out == first.out
    (folder / "transcripts" / lines(folder)[0]["run"] / "talk.json").unlink()
    more = call("sweep-chunks", talk, "--sizes", "1,full", "--write-recipe", tmp_path / "r.toml")
    assert "1 runs to do" in more.err
    assert more.out.splitlines()[-1].startswith("--chunk ")
    assert 'chunk = "' in (tmp_path / "r.toml").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_sweep_when_a_recording_is_there_twice_then_each_copy_is_run(
    call, talk: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.wav"
    copy.write_bytes(talk.read_bytes())
    first = call("sweep-chunks", talk, copy, "--sizes", "full")
    assert first.code == ExitCode.OK, first.err
    assert [line["session"] for line in lines(tmp_path / "sweep")] == ["talk", "copy"]
    assert "0 runs to do, 2 are there" in call("sweep-chunks", talk, copy, "--sizes", "full").err


@pytest.mark.usefixtures("in_this_process")
def test_sweep_when_interrupted_then_code_130_and_the_same_call_goes_on(
    call, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcribe = SweepWorker.transcribe

    def interrupted(worker: SweepWorker, request: dict[str, Any]) -> dict[str, Any]:
        if worker._settings.chunk_s > 1 and request["session"] == "talk":
            raise KeyboardInterrupt
        return transcribe(worker, request)

    with monkeypatch.context() as patch:
        patch.setattr(SweepWorker, "transcribe", interrupted)
        called = call("sweep-chunks", talk, "--sizes", "1,full")
    assert (called.code, called.out) == (ExitCode.INTERRUPTED, "")
    assert called.err_lines[-1] == "interrupted; what ran is kept: the same call goes on"
    again = call("sweep-chunks", talk, "--sizes", "1,full")
    assert "1 runs to do, 1 are there" in again.err
    assert again.code == ExitCode.OK


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_sweep_when_its_process_is_ended_then_the_same_call_goes_on(
    by: signal.Signals, talk: Path, model: str, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    arguments = ["sweep-chunks", talk, "--sizes", "1,full", "--repeats", "9", "-o", folder]
    arguments += ["--model", model, "--device", "cpu", "--language", "en", "--no-diarize"]
    process = subprocess.Popen(
        [sys.executable, "-m", "murmur_cli", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        # A test run in the background ignores SIGINT, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr is not None
    told = [process.stderr.readline() for _ in range(2)]
    assert told[1].startswith("1 of 18: talk, ")
    process.send_signal(by)
    _, err = process.communicate(timeout=120)
    assert process.returncode == (130 if by is signal.SIGINT else -signal.SIGKILL)
    assert "Traceback" not in err
    done = lines(folder)
    again = call_process(*arguments[:5], "1", *arguments[6:])
    assert again.code == ExitCode.OK, again.err
    assert "2 runs to do" not in again.err
    assert lines(folder)[: len(done)] == done


@pytest.mark.usefixtures("in_this_process")
def test_sweep_when_a_transcript_was_damaged_then_one_line_says_which(
    call, talk: Path, tmp_path: Path
) -> None:
    call("sweep-chunks", talk, "--sizes", "full")
    (place,) = (tmp_path / "sweep" / "transcripts").glob("*/talk.json")
    place.write_text('{"schema_version": "1.0"')
    called = call("sweep-chunks", talk, "--sizes", "full")
    assert called.code == ExitCode.USAGE
    assert called.err_lines[-1].startswith(f"murmur: {place}: not JSON")
    assert called.err_lines[-1].endswith("delete it, and the same call runs it again")


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_sweep_when_a_recording_cannot_be_read_then_it_is_named_and_the_rest_is_run(
    call, talk: Path, tmp_path: Path
) -> None:
    (tmp_path / "junk.wav").write_bytes(b"no audio")
    called = call("sweep-evict", talk, tmp_path / "junk.wav", "--evict", "speech:window=40,delay=0")
    assert called.code == ExitCode.SOME_FAILED
    assert "1 of 2" in called.out
    assert "failed: junk: " in called.out
    assert called.out.splitlines()[-1].startswith("--evict ")
    document = json.loads((tmp_path / "sweep" / "sweep.json").read_text("utf-8"))
    assert [one["policy"] for one in document["settings"]] == ["none", "speech:delay=0,window=40"]
    assert [len(one["recordings"]) for one in document["settings"]] == [2, 2]


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("sweep-chunks", ["--sizes", "x"], "--sizes x"),
        ("sweep-chunks", ["--evict", "spech"], "did you mean speech"),
        ("sweep-chunks", ["--evict", "speech:windw=3"], "windw"),
        ("sweep-chunks", ["--repeats", "0"], "--repeats 0"),
        ("sweep-chunks", ["--threads", "0"], "--threads 0"),
        ("sweep-chunks", ["--within", "nan"], "--within nan"),
        ("sweep-chunks", ["--collar", "-1"], "--collar -1"),
        ("sweep-chunks", ["--uem", "x.uem"], "give --ref, too"),
        ("sweep-chunks", ["--write-recipe", "/dev/null/x.toml"], "/dev/null cannot be written to"),
        ("sweep-chunks", ["--write-recipe", "/"], "--write-recipe /: is a folder"),
        ("sweep-chunks", ["--ref", "nowhere"], "nowhere: no such file"),
        (
            "sweep-evict",
            ["--evict", "output", "--kv-budget", "0.5,9"],
            "--kv-budget 0.5,9: no policy of the sweep has a budget (none, output); add one that",
        ),
        (
            "sweep-evict",
            ["--evict", "outptu", "--kv-budget", "0.5"],
            "--evict outptu: unknown policy (did you mean output?)",
        ),
        (
            "sweep-evict",
            ["--evict", "c3r", "--kv-budget", "0.1;0.2"],
            "--kv-budget 0.1;0.2: a sweep takes entries, such as 256, and shares, such as 0.25, "
            "apart by commas; shares by head are for 'murmur transcribe'",
        ),
        (
            "sweep-evict",
            ["--evict", "c3r", "--evict", "output", "--kv-budget", "0.1,0.2;0.3,0.4"],
            "--kv-budget 0.1,0.2;0.3,0.4: a sweep takes entries",
        ),
        (
            "sweep-evict",
            ["--evict", "c3r:budget=0.1;0.2;0.3"],
            "--kv-budget: has shares for 3 layers of 1 KV heads, and the model has 2 layers of",
        ),
        (
            "sweep-evict",
            ["--evict", "c3r", "--evict-opt", "c3r.budget=0.5,0.1;0.2;0.3"],
            "--kv-budget: has shares for 3 layers of 1 KV heads, and the model has 2 layers of",
        ),
        (
            "sweep-chunks",
            ["--evict", "quest:budget=0.1;0.2;0.3"],
            "--kv-budget: has shares for 3 layers of 1 KV heads, and the model has 2 layers of",
        ),
        (
            "sweep-evict",
            ["--evict", "c3r", "--kv-budget", "0.5,2x"],
            "--kv-budget 2x: give entries",
        ),
        (
            "sweep-evict",
            ["--evict", "c3r", "--kv-budget", "2x,0.5"],
            "--kv-budget 2x: give entries",
        ),
        ("sweep-evict", ["--chunk", "x"], "--chunk x"),
        ("sweep-evict", ["--evict-opt", "align.before=1", "--evict", "output"], "not in the sweep"),
    ],
)
def test_sweep_when_wrong_then_one_line_before_anything_runs(
    command: str, options: list[str], message: str, call, talk: Path, tmp_path: Path
) -> None:
    called = call(command, talk, *options)
    assert called.code == ExitCode.USAGE
    assert message in called.err_lines[-1]
    assert not (tmp_path / "sweep" / "runs.jsonl").exists()


def test_sweep_when_the_folder_is_a_file_then_one_line_before_anything_runs(
    call, talk: Path, tmp_path: Path
) -> None:
    (tmp_path / "sweep").write_text("mine")
    called = call("sweep-chunks", talk)
    assert called.code == ExitCode.USAGE
    assert "is a file; give a folder to -o" in called.err_lines[-1]
    assert (tmp_path / "sweep").read_text() == "mine"


def test_sweep_when_a_run_on_disk_is_none_then_its_line_is_named(
    call, talk: Path, tmp_path: Path
) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "runs.jsonl").write_text('{"run": "a"}\n')
    called = call("sweep-chunks", talk)
    assert called.code == ExitCode.USAGE
    assert "runs.jsonl line 1: not a run of a sweep" in called.err_lines[-1]
