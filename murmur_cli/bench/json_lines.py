"""Requests and answers as lines of JSON over a process's standard streams.

A worker keeps its models loaded and answers one line for each line. This module imports nothing
of ours, so that a peer's worker in another environment can use it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Handler = Callable[[dict[str, Any]], dict[str, Any]]


def serve(handlers: Mapping[str, Handler]) -> None:
    """Answer lines {"op": NAME, …} until standard input ends.

    An answer is what the handler returns, or {"error": "…"} in one line: the worker goes on.
    What libraries print goes to standard error, not among the answers.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = handlers[request.pop("op")](request)
        except Exception as error:
            # Whatever failed belongs into the report's row, and other rows are still to come.
            text = " ".join(str(error).split()) or "no message"
            answer = {"error": f"{type(error).__name__}: {text}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


@contextlib.contextmanager
def clocked(answer: dict[str, Any]) -> Iterator[None]:
    """Add the wall and process seconds of the block to an answer."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    answer["wall_s"] = time.perf_counter() - wall
    answer["cpu_s"] = time.process_time() - cpu
