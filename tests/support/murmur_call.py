"""Murmur called as a user calls it: as a process of its own, or in this one with stand-ins."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from murmur_cli.commands.app import main


@dataclass(frozen=True, slots=True)
class Called:
    """What a call left behind."""

    code: int
    out: str
    err: str

    @property
    def err_lines(self) -> list[str]:
        """Lines on standard error."""
        return self.err.splitlines()


def call_process(
    *arguments: str | Path, folder: Path | None = None, environment: dict[str, str] | None = None
) -> Called:
    """Run `murmur` in a process of its own, with one thread, in `folder`."""
    run = subprocess.run(
        [sys.executable, "-m", "murmur_cli", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        check=False,
    )
    return Called(run.returncode, run.stdout, run.stderr)


def call_main(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Called:
    """Run the entry point in this process, where stand-ins may be in place."""
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["murmur", *map(str, arguments)])
        # An interrupted run ends its process at once; this one is ours.
        patch.setattr("murmur_cli.commands.app.os._exit", sys.exit)
        with pytest.raises(SystemExit) as ending:
            main()
    captured = capsys.readouterr()
    return Called(int(ending.value.code or 0), captured.out, captured.err)
