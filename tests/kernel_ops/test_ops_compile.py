"""The Triton kernels of the selecting ops, compiled for a GPU where there is none."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPILE = Path(__file__).parents[1] / "support/compile_ops.py"
SHARED_BYTES = 99 * 1024
"""What a program may have on the smallest of the GPUs since Ampere."""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs triton")
@pytest.mark.parametrize("capability", [80, 90])
def test_kernels_when_compiled_then_nothing_spills_and_memory_suffices(capability: int) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    run = subprocess.run(
        [sys.executable, str(COMPILE), "--capability", str(capability)],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    kernels = [json.loads(line) for line in run.stdout.splitlines()]
    assert len({kernel["op"] for kernel in kernels}) == 11
    for kernel in kernels:
        assert kernel["spilled_bytes"] == 0, kernel
        assert kernel["shared_bytes"] <= SHARED_BYTES, kernel
