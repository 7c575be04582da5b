"""What was run, on disk: one line of JSON a run, so that a sweep goes on where it was broken off.

A run is one setting on one recording. Its id is a hash of what decides the result: the settings
that reach the pipeline, and the audio's bytes. Repeats share the id and are numbered.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from murmur_cli import __version__
from murmur_cli.audio.path_text import path_text
from murmur_cli.errors import MurmurError, UsageError
from murmur_cli.types import KvUsage

FILE_NAME = "runs.jsonl"
FORMAT = 1
"""Part of every id: raised when the meaning of a run changes, so that old lines are not used."""


def run_id(options: Mapping[str, Any], audio_sha256: str) -> str:
    """Id of a run: 16 hex digits of SHA-256 over settings, audio, version and format."""
    content = {
        "format": FORMAT,
        "murmur": __version__,
        "options": dict(options),
        "audio": audio_sha256,
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class RunLine:
    """One repeat of a run.

    Attributes:
        run: id.
        repeat: counted from 0.
        session: name of the recording.
        audio_s: length of the recording.
        options: settings by their Python names.
        wall_s: of the job, from the file to the transcript, models loaded.
        cpu_s: of the process.
        stages_s: wall seconds by stage.
        peak_bytes: most that was resident in the process.
        device_peak_bytes: most that the CUDA device held; None on a CPU.
        kv: counts of `KvUsage`.
        machine: device, threads and commit.
        failure: why there is no result; such a run is tried again.
    """

    run: str
    repeat: int
    session: str
    audio_s: float
    options: dict[str, Any]
    wall_s: float = 0.0
    cpu_s: float = 0.0
    stages_s: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    device_peak_bytes: int | None = None
    kv: dict[str, int] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    failure: str | None = None


class RunFile:
    """The runs of a folder; new ones are added at the end, on disk before the next begins."""

    def __init__(self, folder: Path) -> None:
        """Read what is there.

        Raises:
            UsageError: a line that is not the last is none of ours.
        """
        self.path = folder / FILE_NAME
        self._lines: dict[tuple[str, int], RunLine] = {}
        self._read()

    def done(self, run: str, repeat: int) -> RunLine | None:
        """The line of a repeat that did not fail."""
        line = self._lines.get((run, repeat))
        return line if line is not None and line.failure is None else None

    def repeats(self, run: str) -> tuple[RunLine, ...]:
        """Repeats of a run that did not fail, in order."""
        found = [line for (name, _), line in self._lines.items() if name == run]
        done = [line for line in found if line.failure is None]
        return tuple(sorted(done, key=lambda line: line.repeat))

    def failure(self, run: str) -> str | None:
        """Why a run has no result; None if it has one or was not tried."""
        if self.repeats(run):
            return None
        lines = [line for (name, _), line in self._lines.items() if name == run]
        return lines[-1].failure if lines else None

    def add(self, line: RunLine) -> None:
        """Write a line, whole and on disk.

        Raises:
            MurmurError: it cannot be written.
        """
        text = json.dumps(dataclasses.asdict(line), ensure_ascii=False, allow_nan=False)
        try:
            with self.path.open("ab") as file:
                file.write((text + "\n").encode("utf-8", "backslashreplace"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise MurmurError(
                f"{path_text(self.path)} cannot be written ({error.strerror}); what ran is kept: "
                "mend it, and the same call goes on"
            ) from error
        self._lines[line.run, line.repeat] = line

    def _read(self) -> None:
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(
                f"{path_text(self.path)}: cannot be read ({error.strerror})"
            ) from error
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            # A run that was killed while it wrote: its line is not there, and is run again.
            with self.path.open("rb+") as file:
                file.truncate(len(whole))
        for number, text in enumerate(whole.split(b"\n")[:-1], start=1):
            try:
                line = _line_of(text)
            except (ValueError, TypeError):
                raise UsageError(
                    f"{path_text(self.path)} line {number}: not a run of a sweep; "
                    "give another folder to -o, or delete the line"
                ) from None
            self._lines[line.run, line.repeat] = line


def _line_of(text: bytes) -> RunLine:
    """A line of the file.

    Raises:
        ValueError, TypeError: it is none.
    """
    line = RunLine(**json.loads(text, parse_constant=_refuse))
    KvUsage(**line.kv)
    names = (line.run, line.session, line.failure or "")
    stages = dict(line.stages_s)
    numbers = (line.audio_s, line.wall_s, line.cpu_s, line.peak_bytes, *stages.values())
    if not all(isinstance(name, str) for name in names) or type(line.repeat) is not int:
        raise TypeError("a name or a number of another type")
    if not all(type(number) in (int, float) for number in numbers):
        raise TypeError("a figure that is no number")
    return line


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
