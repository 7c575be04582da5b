"""The help text of every command, as 80 columns of plain text: golden/<command>.txt."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from murmur_cli.commands.app import app

_FOLDER = Path(__file__).parent / "golden"
_COMMANDS = {
    "murmur": [],
    "transcribe": ["transcribe"],
    "diarize": ["diarize"],
    "enroll": ["enroll"],
    "speakers": ["speakers"],
    "models": ["models"],
    "models_pull": ["models", "pull"],
    "doctor": ["doctor"],
    "bench": ["bench"],
    "calibrate": ["calibrate"],
    "score": ["score"],
    "sweep_chunks": ["sweep-chunks"],
    "sweep_evict": ["sweep-evict"],
}


@pytest.mark.parametrize("name", _COMMANDS)
def test_help_when_asked_then_same_text(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("FORCE_COLOR", "NO_COLOR", "PY_COLORS"):
        monkeypatch.delenv(variable, raising=False)
    runner = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80", "TERM": "dumb"})
    result = runner.invoke(app, [*_COMMANDS[name], "--help"], prog_name="murmur")
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    golden = _FOLDER / f"{name}.txt"
    if request.config.getoption("--refresh-golden"):
        golden.write_text(result.stdout, "utf-8")
    assert result.stdout == golden.read_text("utf-8")
