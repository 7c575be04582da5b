"""Runs on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.errors import UsageError
from policies.run_lines import RunLines

ABOUT = {"model": "m", "part": "answers", "label": "c3", "budget": 64}


def test_run_when_written_then_found_by_its_settings_and_content(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.jsonl"
    RunLines(path).add(ABOUT, "a" * 64, {"errors": 3})
    again = RunLines(path)
    assert again.found(ABOUT, "a" * 64) == {"errors": 3}
    assert again.found(ABOUT, "b" * 64) is None
    assert again.found({**ABOUT, "budget": 128}, "a" * 64) is None


def test_line_when_cut_off_then_run_again_and_the_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    RunLines(path).add(ABOUT, "a", {"errors": 3})
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"run": "12", "abo')
    runs = RunLines(path)
    runs.add({**ABOUT, "budget": 128}, "a", {"errors": 4})
    assert path.read_bytes().startswith(whole)
    assert len(RunLines(path).of_model("m", "answers")) == 2


def test_line_when_not_ours_then_named(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"run": "12"}\n')
    with pytest.raises(UsageError, match=r"results\.jsonl line 1"):
        RunLines(path)


def test_lines_of_a_model_when_weights_were_changed_then_only_the_new(tmp_path: Path) -> None:
    runs = RunLines(tmp_path / "results.jsonl")
    runs.add(ABOUT, "old", {"errors": 1})
    runs.add(ABOUT, "new", {"errors": 2})
    runs.add({**ABOUT, "model": "other"}, "old", {"errors": 3})
    assert [line["found"]["errors"] for line in runs.of_model("m", "answers")] == [2]
    assert runs.of_model("m", "coverage") == []
    assert runs.models == ["m", "other"]
