"""Runs on disk: ids, resume, damage."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from murmur_cli.errors import MurmurError, UsageError
from murmur_cli.sweeps.run_file import FILE_NAME, RunFile, run_id
from support.sweep_results import make_line

OPTIONS = {"model": "whisper-base", "chunk_s": 30.0, "evict_options": {"b": "1", "a": "2"}}


def test_id_when_keys_are_in_another_order_then_the_same() -> None:
    other = {"evict_options": {"a": "2", "b": "1"}, "chunk_s": 30.0, "model": "whisper-base"}
    assert run_id(OPTIONS, "f" * 64) == run_id(other, "f" * 64)
    assert len(run_id(OPTIONS, "f" * 64)) == 16


@pytest.mark.parametrize(
    ("options", "audio"),
    [
        (OPTIONS, "e" * 64),
        ({**OPTIONS, "chunk_s": 60.0}, "f" * 64),
        ({**OPTIONS, "evict_options": {"a": "2"}}, "f" * 64),
    ],
)
def test_id_when_settings_or_audio_differ_then_another(options: dict, audio: str) -> None:
    assert run_id(options, audio) != run_id(OPTIONS, "f" * 64)


def test_runs_when_read_again_then_they_are_there(tmp_path: Path) -> None:
    runs = RunFile(tmp_path)
    runs.add(make_line(2.0, repeat=1))
    runs.add(make_line(1.0, repeat=0))
    again = RunFile(tmp_path)
    assert [line.wall_s for line in again.repeats("run")] == [1.0, 2.0]
    assert again.done("run", 1) == make_line(2.0, repeat=1)
    assert again.done("run", 2) is None
    assert again.done("other", 0) is None


def test_runs_when_one_failed_then_it_is_not_done_until_it_succeeds(tmp_path: Path) -> None:
    runs = RunFile(tmp_path)
    runs.add(dataclasses.replace(make_line(0.0), failure="no memory"))
    assert runs.done("run", 0) is None
    assert RunFile(tmp_path).failure("run") == "no memory"
    runs.add(make_line(3.0))
    again = RunFile(tmp_path)
    assert again.failure("run") is None
    assert [line.wall_s for line in again.repeats("run")] == [3.0]


def test_runs_when_the_last_line_is_torn_then_it_is_dropped_and_the_file_goes_on(
    tmp_path: Path,
) -> None:
    RunFile(tmp_path).add(make_line(1.0))
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes() + b'{"run": "hal')
    runs = RunFile(tmp_path)
    runs.add(make_line(2.0, repeat=1))
    lines = path.read_text("utf-8").splitlines()
    assert [json.loads(line)["wall_s"] for line in lines] == [1.0, 2.0]


def _changed(**values: object) -> str:
    return json.dumps({**dataclasses.asdict(make_line(1.0)), **values})


@pytest.mark.parametrize(
    "text",
    [
        '{"other": 1}',
        "[1]",
        "null",
        "\x00\x00",
        _changed(wall_s=None),
        _changed(wall_s=float("nan")),
        _changed(repeat="0"),
        _changed(kv={"pages": 3}),
        _changed(stages_s=[1]),
        _changed(stages_s={"recognition": "1"}),
    ],
)
def test_runs_when_a_line_is_not_ours_then_it_is_named(text: str, tmp_path: Path) -> None:
    RunFile(tmp_path).add(make_line(1.0))
    path = tmp_path / FILE_NAME
    path.write_text(path.read_text("utf-8") + text + "\n", "utf-8")
    with pytest.raises(UsageError, match=r"runs\.jsonl line 2: not a run"):
        RunFile(tmp_path)


def test_runs_when_the_file_cannot_be_read_or_written_then_one_line(tmp_path: Path) -> None:
    runs = RunFile(tmp_path)
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(UsageError, match=r"runs\.jsonl: cannot be read \(Is a directory\)"):
        RunFile(tmp_path)
    with pytest.raises(MurmurError, match=r"cannot be written \(Is a directory\)"):
        runs.add(make_line(1.0))
