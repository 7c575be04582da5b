"""A worker in a process of its own, asked by lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import IO, Any

from murmur_cli.errors import MurmurError

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
PACKAGE_ROOT = Path(__file__).parents[2]


class WorkerError(MurmurError):
    """A worker did not do what it was asked; the message is for a row of the report."""


class WorkerProcess:
    """Starts `python arguments…` with `threads` threads; its own messages go to `log`.

    Use it as a context: the process ends with the block.
    """

    def __init__(self, python: Path, arguments: list[str], threads: int, log: Path) -> None:
        self._log: IO[bytes] = log.open("ab")
        paths = [str(PACKAGE_ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {
            **os.environ,
            **dict.fromkeys(THREAD_VARIABLES, str(threads)),
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "HF_HUB_OFFLINE": "1",
        }
        try:
            self._process = subprocess.Popen(
                [str(python), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment,
                encoding="utf-8",
            )
        except OSError as error:
            self._log.close()
            raise WorkerError(f"{python.name} does not start: {error.strerror}") from error

    def ask(self, op: str, **request: Any) -> dict[str, Any]:
        """The worker's answer.

        Raises:
            WorkerError: it failed or ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"op": op, **request}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            code = self._process.wait()
            raise WorkerError(f"the worker ended with code {code}; see worker.log")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise WorkerError(str(answer["error"]))
        return answer

    def close(self) -> None:
        """End the process, after the job that it is at."""
        if self._process.stdin is not None:
            # What a process that has died did not take is lost with it.
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._log.close()

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is not None:
            # Nobody waits for the job that it is at.
            self._process.kill()
        self.close()
