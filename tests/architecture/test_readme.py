"""What README.md tells a reader to type is what the program takes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from murmur_cli.commands.app import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, flags=re.S)
LINES = [line for block in BLOCKS for line in block.splitlines() if line.strip()]
CALLS = [shlex.split(line, comments=True) for line in LINES if line.startswith("murmur ")]


@pytest.mark.parametrize("call", CALLS, ids=" ".join)
def test_readme_when_it_shows_a_call_then_the_program_has_its_options(call: list[str]) -> None:
    command = typer.main.get_command(app).commands[call[1]]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}
    known |= {option for parameter in command.params for option in parameter.secondary_opts}
    assert {word for word in call[2:] if word.startswith("-") and word != "-"} <= known


def test_readme_when_it_names_options_in_tables_then_transcribe_has_them() -> None:
    command = typer.main.get_command(app).commands["transcribe"]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts}
    known |= {option for parameter in command.params for option in parameter.secondary_opts}
    named = {
        option
        for row in README.splitlines()
        if row.startswith("| `-")
        for option in re.findall(r"(?<![\w-])--?[a-z][\w-]*", row.split("|")[1])
    }
    assert named
    assert named <= known


def test_readme_when_it_calls_make_then_the_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), flags=re.M))
    named = {name for line in LINES for name in re.findall(r"\bmake ([a-z-]+)", line)}
    assert named
    assert named <= targets


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([\w./-]+)\)", README))), ids=str)
def test_readme_when_it_links_a_file_then_the_file_is_there(path: str) -> None:
    assert (ROOT / path).exists()
