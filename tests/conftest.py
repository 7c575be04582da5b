"""What every test shares: no network, fixed seeds, Triton's interpreter where there is no GPU."""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest

SEED = 20_260_101


def _has_cuda_device() -> bool:
    # Asking torch would cost every run its import; Triton runs on Linux only, where the
    # driver shows itself as this file.
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    return Path("/dev/nvidiactl").exists() and not hidden


# Both are read when the libraries are imported, so before any test module.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
if not _has_cuda_device():
    os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--refresh-golden",
        action="store_true",
        help="write the expected files of tests/golden and tests/cli/golden anew instead of "
        "comparing with them; review the diff",
    )


@pytest.fixture(autouse=True)
def _fixed_seeds() -> None:
    random.seed(SEED)
    np.random.seed(SEED)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(SEED)


@pytest.fixture(scope="session")
def sample_wav() -> Path:
    """The real two-speaker conversation (30 s, 16 kHz, mono) that pyannote.audio ships.

    `sample.rttm` and `sample.stm` beside it are its references.
    """
    spec = importlib.util.find_spec("pyannote")  # a namespace package: nothing is run
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        path = Path(folder) / "audio" / "sample" / "sample.wav"
        if path.is_file():
            return path
    pytest.fail("pyannote.audio with its audio/sample/sample.wav is not installed")
