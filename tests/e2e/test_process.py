"""The program as a process among others: signals, pipes, full disks, closed streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.errors import ExitCode

pytestmark = pytest.mark.embedded

HANG_S = 120


@pytest.fixture
def silence(tmp_path: Path) -> Path:
    path = tmp_path / "silence.wav"
    sf.write(path, np.zeros(16_000), 16_000)
    return path


def _start(*arguments: str | Path, **streams: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "murmur_cli", "transcribe", "--device", "cpu", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background ignores SIGINT, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **streams,  # type: ignore[call-overload]
    )


def test_process_when_interrupted_while_models_load_then_it_ends_with_code_130(
    sample_wav: Path, tmp_path: Path
) -> None:
    process = _start(sample_wav, "-o", tmp_path, "-v", stdout=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("model whisper-base on cpu")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANG_S)
    assert process.returncode == ExitCode.INTERRUPTED
    assert out == ""
    assert err.splitlines()[-1] == "interrupted; finished recordings are written"
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


def test_process_when_the_reader_is_gone_then_no_complaint(silence: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = _start(silence, "-o", "-", "-f", "stm", stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (ExitCode.OK, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which Linux has")
def test_process_when_standard_output_is_full_then_one_line_and_code_1(silence: Path) -> None:
    with open("/dev/full", "w") as full:
        process = _start(silence, "-o", "-", "-f", "stm", stdout=full)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == ExitCode.SOME_FAILED
    assert err == "murmur: standard output cannot be written to (No space left on device)\n"
