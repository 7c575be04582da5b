"""From what the user writes after `--device` to a device that is there."""

from __future__ import annotations

import re
from collections.abc import Sequence

from murmur_cli.errors import UsageError

BALANCED = "balanced"


def resolve_device(requested: str) -> str:
    """'cpu', 'cuda:N' or 'balanced' for 'auto', 'cpu', 'cuda', 'cuda:N' or 'balanced'.

    'balanced' spreads the layers of a model that is larger than one device over all CUDA devices
    (accelerate does it). Imports torch except for 'cpu'.

    Raises:
        UsageError: another word, or a CUDA device that this machine does not have.
    """
    if requested == "cpu":
        return requested
    match = re.fullmatch(r"auto|balanced|cuda(?::(\d+))?", requested)
    if match is None:
        raise UsageError(f"--device {requested}: give auto, cpu, cuda, cuda:N or balanced")
    count = cuda_device_count()
    if requested == BALANCED:
        if count < 2:
            raise UsageError(f"--device balanced: wants several CUDA devices, there are {count}")
        return BALANCED
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
