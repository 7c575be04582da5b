"""The machine in words, for a report that may be published: no path, no host's name."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from murmur_cli import __version__
from murmur_cli.models.machine import instruction_sets, package_version, usable_cores

VERSIONS = ("torch", "transformers", "llvmlite", "numpy", "silero-vad", "meeteval")
CPUINFO = Path("/proc/cpuinfo")


def machine_record(
    device: str, threads: int, packages: Sequence[str] = VERSIONS
) -> dict[str, object]:
    """Device, threads, versions and commit. `device` as `resolve_device` gives it."""
    versions = {"murmur": __version__, "python": platform.python_version()}
    versions |= {name: found for name in packages if (found := package_version(name))}
    return {
        "device": device_words(device),
        "threads": threads,
        "commit": commit(Path(__file__).parents[2]) or "unknown",
        "versions": versions,
    }


def model_words(name: str) -> str:
    """Name of a model for a report: of a local folder, only its own name."""
    return f"folder {Path(name).resolve().name}" if Path(name).is_dir() else name


def device_words(device: str, cpuinfo: Path = CPUINFO) -> str:
    """Such as '2 cores of AMD EPYC, avx2' or the name of the card."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device)
    sets = instruction_sets(cpuinfo) or ()
    words = f"{usable_cores()} cores of {_cpu_name(cpuinfo)}"
    return ", ".join([words, *sets])


def _cpu_name(cpuinfo: Path) -> str:
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names and names[0] else platform.machine()


def commit(folder: Path) -> str | None:
    """Commit of the checkout that `folder` is in, with '+' if files differ; None outside one."""
    found = _git(folder, "rev-parse", "--short=12", "HEAD")
    if found is None:
        return None
    return found + ("+" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")


def _git(folder: Path, *arguments: str) -> str | None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        run = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            encoding="utf-8",
            env=environment,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return run.stdout.strip()
