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
    return _cuda(int(match.group(1) or 0), count, f"--device {requested}", "try --device cpu")


def resolve_devices(requested: Sequence[str]) -> tuple[str, ...]:
    """The devices of '--devices': each 'cpu' or 'cuda:N', for which a bare N will do.

    Raises:
        UsageError: none, another word, one that is not there, or a CUDA device named twice.
    """
    devices = []
    for name in requested:
        match = re.fullmatch(r"(?:cuda:)?(\d+)", name)
        if name != "cpu" and match is None:
            raise UsageError(f"--devices {','.join(requested)}: give numbers by commas, as in 0,1")
        if match is None:
            devices.append(name)
            continue
        option = f"--devices {','.join(requested)}"
        devices.append(_cuda(int(match[1]), cuda_device_count(), option, "leave --devices out"))
    twice = [name for name in devices if name != "cpu" and devices.count(name) > 1]
    if twice:
        raise UsageError(f"--devices: {twice[0]} is named twice")
    return tuple(devices)


def _cuda(index: int, count: int, option: str, cure: str) -> str:
    if index >= count:
        there = f"this machine has {count}, counted from 0" if count else "there is none here"
        raise UsageError(f"{option}: no CUDA device {index}, {there}; {cure}")
    return f"cuda:{index}"


def cuda_device_count() -> int:
    """CUDA devices that torch can use."""
    import torch

    return torch.cuda.device_count() if torch.cuda.is_available() else 0
