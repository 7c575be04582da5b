"""Runs on disk: one line of JSON each, named by a hash of what decides it, so that work goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from murmur_cli.errors import UsageError
from murmur_cli.sweeps.run_file import run_id

Line = dict[str, Any]
KEYS = ("content", "about", "found")
CONTENT_DIGITS = 16


class RunLines:
    """The lines of one file; a new one is on disk before the next run begins.

    A line holds `run` (its id), `content` (hash of weights and audio), `about` (what was run: part,
    model, policy, …) and `found` (figures).
    """

    def __init__(self, path: Path) -> None:
        """Read what is there; a line that was cut off is run again.

        Raises:
            UsageError: a line that is not the last is none of ours.
        """
        self.path = path
        self._lines: dict[str, Line] = {}
        content = path.read_bytes() if path.exists() else b""
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with path.open("rb+") as file:
                file.truncate(len(whole))
        for number, text in enumerate(whole.splitlines(), start=1):
            try:
                line = json.loads(text)
                self._lines[line["run"]] = {key: line[key] for key in KEYS}
            except (ValueError, TypeError, KeyError):
                raise UsageError(
                    f"{path.name} line {number}: not a run of these measurements; delete the line"
                ) from None

    def found(self, about: Mapping[str, Any], content_sha256: str) -> Line | None:
        """Figures of a run, None if it is not there. content_sha256: of audio and weights."""
        line = self._lines.get(run_id(about, content_sha256))
        return None if line is None else line["found"]

    def add(self, about: Mapping[str, Any], content_sha256: str, found: Line) -> None:
        """Write a line, whole and on disk."""
        run = run_id(about, content_sha256)
        line = {"content": content_sha256[:CONTENT_DIGITS], "about": dict(about), "found": found}
        text = json.dumps({"run": run, **line}, ensure_ascii=False, allow_nan=False)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(f"{text}\n".encode())
            file.flush()
            os.fsync(file.fileno())
        self._lines[run] = line

    def of_model(self, model: str, part: str) -> list[Line]:
        """`about` and `found` of a part of a model, in order, of its newest content only."""
        own = [line for line in self._lines.values() if line["about"]["model"] == model]
        return [
            line
            for line in own
            if line["content"] == own[-1]["content"] and line["about"]["part"] == part
        ]

    @property
    def models(self) -> list[str]:
        """Names of the models that were measured."""
        return list(dict.fromkeys(line["about"]["model"] for line in self._lines.values()))
