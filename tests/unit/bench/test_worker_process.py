"""A worker of a few lines in a process of its own."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from murmur_cli.bench.worker_process import WorkerError, WorkerProcess

WORKER = """
import os
import time
from murmur_cli.bench.json_lines import clocked, serve

def echo(request):
    print("a library talks")
    answer = {"threads": os.environ["OMP_NUM_THREADS"], "got": request}
    with clocked(answer):
        pass
    return answer

def fail(request):
    raise ValueError("two\\nlines")

serve({"echo": echo, "fail": fail, "die": lambda request: os._exit(3),
       "hang": lambda request: time.sleep(600)})
"""


@pytest.fixture
def worker(tmp_path: Path) -> WorkerProcess:
    return WorkerProcess(Path(sys.executable), ["-c", WORKER], 1, tmp_path / "worker.log")


def test_worker_when_asked_then_it_answers_and_prints_do_not_disturb(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    with worker:
        answer = worker.ask("echo", value="ä")
        assert answer["got"] == {"value": "ä"}
        assert answer["threads"] == "1"
        assert answer["wall_s"] >= 0
    assert "a library talks" in (tmp_path / "worker.log").read_text()


def test_worker_when_a_job_fails_then_one_line_and_the_next_job_works(
    worker: WorkerProcess,
) -> None:
    with worker:
        with pytest.raises(WorkerError, match="ValueError: two lines"):
            worker.ask("fail")
        with pytest.raises(WorkerError, match="KeyError"):
            worker.ask("unheard of")
        assert worker.ask("echo")["got"] == {}


def test_worker_when_its_process_dies_then_worker_error_with_the_code(
    worker: WorkerProcess,
) -> None:
    with worker, pytest.raises(WorkerError, match="ended with code 3"):
        worker.ask("die")


def test_worker_when_the_block_is_broken_off_then_its_job_is_not_waited_for(
    worker: WorkerProcess,
) -> None:
    def broken_off() -> None:
        with worker:
            assert worker._process.stdin is not None
            worker._process.stdin.write('{"op": "hang"}\n')
            worker._process.stdin.flush()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert worker._process.returncode == -signal.SIGKILL


def test_worker_when_it_has_died_then_closing_it_is_quiet(worker: WorkerProcess) -> None:
    with worker:
        with pytest.raises(WorkerError):
            worker.ask("die")
        with pytest.raises(WorkerError):
            worker.ask("echo", value="x" * 100_000)


def test_worker_when_python_is_missing_then_worker_error(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="does not start"):
        WorkerProcess(tmp_path / "python", [], 1, tmp_path / "worker.log")
