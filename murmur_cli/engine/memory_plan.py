"""How much the arenas take, what is free for them, and how many slots fit.

The plan is made before the first step: an arena never grows, and a run that starts does not
die of memory that it could have known about.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from murmur_cli.engine.policies.base import OutputBound

ARENA_SHARE = 0.8
"""Of the free memory, what the arenas may take: the encoder and each step need some too."""

MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """The longest prompt (with its suffix) and the longest output of any request, in tokens."""

    prompt_tokens: int
    output_tokens: int


def own_entries(limits: RequestLimits | None, bound: OutputBound | None, max_entries: int) -> int:
    """Entries that prompt and output of one slot can need.

    A bounded output is a ring of sinks and window. Without limits any request that the model
    takes may come, so all its positions (`max_entries`) are planned.
    """
    if limits is None:
        return max_entries
    output = limits.output_tokens
    if bound is not None:
        output = min(output, bound.sinks + bound.window)
    return min(max_entries, limits.prompt_tokens + output)


def slots_that_fit(wanted: int, slot_bytes: int, free_bytes: int | None) -> int:
    """At most `wanted` slots within ARENA_SHARE of the free memory; 0 if not even one fits.

    One slot may take all that is free: there is no smaller plan. `free_bytes` None means that
    nobody knows; then it is tried.
    """
    if free_bytes is None or slot_bytes <= 0:
        return wanted
    fitting = int(ARENA_SHARE * free_bytes) // slot_bytes
    return min(wanted, max(fitting, 1 if slot_bytes <= free_bytes else 0))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation failed: CUDA's own error, or that of torch's allocator for CPUs."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)


def free_memory_bytes(device: torch.device) -> int | None:
    """Free memory of the device; None if the system does not say.

    On CUDA with what torch has reserved and not in use, on a CPU what Linux calls available,
    within the limit of the control group.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(free + unused)
    known = [
        size for size in (_available_bytes(MEMINFO), _group_free_bytes(GROUP)) if size is not None
    ]
    return min(known) if known else None


def _available_bytes(meminfo: Path) -> int | None:
    try:
        for line in meminfo.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


def _group_free_bytes(group: Path) -> int | None:
    """What the control group (version 2) leaves: limit less use, files' cache not counted."""
    try:
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        stat = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):  # no limit, or no such group
        return None
    cache = sum(
        int(line.split()[1])
        for line in stat
        if line.startswith(("inactive_file ", "slab_reclaimable "))
    )
    return max(0, limit - used + cache)
