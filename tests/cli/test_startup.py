import subprocess
import sys

HEAVY = ("torch", "transformers", "pyannote", "soundfile", "av", "scipy", "huggingface_hub")

CODE = """
import sys
from typer.testing import CliRunner
from murmur_cli.commands.app import app
result = CliRunner().invoke(app, ["--help"])
assert result.exit_code == 0, result.output
print(*sys.modules)
"""


def test_help_when_asked_then_no_heavy_library_is_imported() -> None:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert loaded.isdisjoint(HEAVY), loaded & set(HEAVY)


def test_entry_point_when_asked_for_help_then_it_succeeds_quietly() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "murmur_cli", "--help"], capture_output=True, text=True
    )
    assert run.returncode == 0
    assert "transcribe" in run.stdout
    assert run.stderr == ""
