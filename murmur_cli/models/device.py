"""From what the user writes after `--device` to a device that is there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from murmur_cli.errors import UsageError


def resolve_device(requested: str) -> str:
    """'cpu' or 'cuda:N' for 'auto', 'cpu', 'cuda' or 'cuda:N'; imports torch except for 'cpu'.

    Raises:
        UsageError: another word, or a CUDA device that this machine does not have.
    """
    if requested == "cpu":
        return requested
    match = re.fullmatch(r"auto|cuda(?::(\d+))?", requested)
    if match is None:
        raise UsageError(f"--device {requested}: give auto, cpu, cuda or cuda:N")
    count = cuda_device_count()
    if requested == "auto":
        return "cuda:0" if count else "cpu"
    index = int(match.group(1) or 0)
    if index >= count:
        there = f"this machine has {count}, counted from 0" if count else "there is none here"
        raise UsageError(f"--device {requested}: no such CUDA device, {there}; try --device cpu")
    return f"cuda:{index}"


def resolve_devices(requested: Sequence[str]) -> tuple[str, ...]:
    """The devices of '--devices', each as `resolve_device` gives it; a bare number is CUDA's.

    Raises:
        UsageError: one is not there, or a CUDA device is named twice.
    """
    devices = tuple(
        resolve_device(f"cuda:{name}" if name.isdecimal() else name) for name in requested
    )
    twice = [name for name in devices if name != "cpu" and devices.count(name) > 1]
    if twice:
        raise UsageError(f"--devices: {twice[0]} is named twice")
    return devices


def cuda_device_count() -> int:
    """CUDA devices that torch can use."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0
