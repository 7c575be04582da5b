"""Free memory as the system tells it, and what counts as running out."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from murmur_cli.engine import memory_plan
from murmur_cli.engine.memory_plan import (
    free_memory_bytes,
    is_out_of_memory,
    slots_that_fit,
)

CPU = torch.device("cpu")


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 1,000 kB available, and no control group yet."""
    (tmp_path / "meminfo").write_text("MemTotal:  9000 kB\nMemAvailable:   1000 kB\n")
    monkeypatch.setattr(memory_plan, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory_plan, "GROUP", tmp_path)
    return tmp_path


def limit(folder: Path, most: str, used: int, cache: int) -> None:
    (folder / "memory.max").write_text(f"{most}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\ninactive_file {cache}\nslab_reclaimable 7\n")


def test_free_when_there_is_no_group_then_what_linux_calls_available(system: Path) -> None:
    assert free_memory_bytes(CPU) == 1_024_000


@pytest.mark.parametrize(
    ("most", "used", "cache", "free"),
    [
        ("600000", 200_000, 100_000, 500_007),  # the group is the tighter one
        ("9000000", 200_000, 0, 1_024_000),  # the machine is
        ("max", 200_000, 0, 1_024_000),  # no limit
        ("100", 5_000, 0, 0),  # over its limit
    ],
)
def test_free_when_a_group_limits_memory_then_the_smaller_of_both(
    system: Path, most: str, used: int, cache: int, free: int
) -> None:
    limit(system, most, used, cache)
    assert free_memory_bytes(CPU) == free


def test_free_when_the_system_does_not_say_then_unknown(system: Path) -> None:
    (system / "meminfo").unlink()
    assert free_memory_bytes(CPU) is None


@pytest.mark.parametrize(
    ("wanted", "slot_bytes", "free", "slots"),
    [
        (16, 100, None, 16),
        (16, 100, 2000, 16),  # 0.8 of 2,000 takes just 16
        (16, 100, 1999, 15),
        (16, 100, 124, 1),
        (16, 100, 100, 1),  # the smallest plan may take all
        (16, 100, 99, 0),
    ],
)
def test_slots_when_memory_is_known_then_as_many_as_its_share_holds(
    wanted: int, slot_bytes: int, free: int | None, slots: int
) -> None:
    assert slots_that_fit(wanted, slot_bytes, free) == slots


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), True),
        (MemoryError(), True),
        (RuntimeError("shape '[2]' is invalid"), False),
        (ValueError("DefaultCPUAllocator"), False),
    ],
)
def test_out_of_memory_when_an_error_is_seen_then_told_from_others(
    error: Exception, is_memory: bool
) -> None:
    assert is_out_of_memory(error) == is_memory


def test_out_of_memory_when_torch_cannot_allocate_on_the_cpu_then_recognised() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**50)  # four petabytes
    assert is_out_of_memory(caught.value)
