"""The implementations of a kernel op that its tests run: torch, Triton interpreted or compiled."""

from __future__ import annotations

import importlib
import importlib.util
import os

import pytest
import torch

_HAS_TRITON = importlib.util.find_spec("triton") is not None
_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"  # set by tests/conftest.py

KERNEL_PATHS = [
    pytest.param("torch", id="torch"),
    pytest.param(
        "interpreted",
        id="interpreted",
        marks=pytest.mark.skipif(
            not (_HAS_TRITON and _INTERPRETED), reason="needs triton, and no GPU that hides it"
        ),
    ),
    pytest.param("compiled", id="compiled", marks=pytest.mark.gpu),
]


def kernel_device(path: str, monkeypatch: pytest.MonkeyPatch, *modules: str) -> torch.device:
    """Where the tensors of a test on this path lie.

    With 'interpreted', the public ops of `murmur_kernels.<module>` launch their Triton kernels.
    """
    if path == "interpreted":
        for module in modules:
            # The package's attribute of this name is the op itself, not its module.
            op_module = importlib.import_module(f"murmur_kernels.{module}")
            monkeypatch.setattr(op_module, "implementation", lambda device: "triton")
    return torch.device("cuda" if path == "compiled" else "cpu")
