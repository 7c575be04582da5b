import json

import pytest
from typer.testing import CliRunner

from murmur_cli.commands.models import models_app
from murmur_cli.errors import ModelError
from murmur_cli.models.catalog import CATALOG


def test_models_when_off_a_terminal_then_lines_are_plain_and_whole() -> None:
    result = CliRunner().invoke(models_app, [])
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["name", "for", "size", "memory", "licence", "offline"]
    for entry in CATALOG:
        assert sum(line.startswith(f"{entry.name} ") for line in lines) == 2
        assert any(entry.source in line and entry.note in line for line in lines)


def test_models_when_json_is_asked_then_every_entry_says_whether_it_is_usable() -> None:
    result = CliRunner().invoke(models_app, ["--json"])
    records = json.loads(result.stdout)
    assert [record["name"] for record in records] == [entry.name for entry in CATALOG]
    for record in records:
        assert record["usable_offline"] is (record["cure"] is None)


def test_pull_when_model_comes_with_a_package_then_nothing_is_fetched() -> None:
    result = CliRunner().invoke(models_app, ["pull", "whisper-base"])
    assert result.exit_code == 0
    assert "nothing to fetch" in result.stderr
    assert result.stdout == ""


def test_pull_when_offline_then_model_error() -> None:
    result = CliRunner().invoke(models_app, ["pull", "murmur-tests/none"])
    assert isinstance(result.exception, ModelError)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE is set"):
        raise result.exception
