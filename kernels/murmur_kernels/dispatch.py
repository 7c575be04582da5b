"""Which implementation of an op runs: Triton on CUDA devices, torch's own operations on the CPU."""

from __future__ import annotations

import functools
import importlib.util
from typing import Literal

import torch

Implementation = Literal["triton", "torch"]


def implementation(device: torch.device) -> Implementation:
    """Chosen by the device alone; the tests call interpreted Triton kernels directly.

    Raises:
        RuntimeError: a CUDA device without Triton, or a device of another kind.
    """
    if device.type == "cpu":
        return "torch"
    if device.type != "cuda":
        raise RuntimeError(
            f"no kernel runs on the device {device}; put the arena on 'cpu' or on 'cuda'"
        )
    if not _triton_is_installed():
        raise RuntimeError(
            f"kernels on {device} need the package triton, which is not installed; "
            "install triton>=3.4, or put the arena on 'cpu'"
        )
    return "triton"


@functools.cache
def _triton_is_installed() -> bool:
    return importlib.util.find_spec("triton") is not None
