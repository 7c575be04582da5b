"""Times of calls on a CUDA device: replayed as a graph, from a cold cache; on the CPU by the clock.

A graph leaves out what Python and the driver spend on a launch, which an engine that replays its
steps does not pay.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

FLUSH_BYTES = 256 * 2**20
"""More than any second-level cache."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Median and quartiles of repeated calls."""

    median_us: float
    low_us: float
    high_us: float


def spread(times_us: list[float]) -> Spread:
    """Of one time or more."""
    if len(times_us) == 1:
        return Spread(median_us=times_us[0], low_us=times_us[0], high_us=times_us[0])
    low, median, high = statistics.quantiles(times_us, n=4, method="inclusive")
    return Spread(median_us=median, low_us=low, high_us=high)


def time_call(call: Callable[[], object], device: torch.device, repeats: int) -> Spread:
    """Times of `repeats` calls after two to warm up."""
    for _ in range(2):
        call()
    if device.type == "cuda":
        return spread(_graph_times_us(call, device, repeats))
    times_us = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times_us.append(1e6 * (time.perf_counter() - started))
    return spread(times_us)


def _graph_times_us(call: Callable[[], object], device: torch.device, repeats: int) -> list[float]:
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        call()
    cache = torch.empty(FLUSH_BYTES, dtype=torch.int8, device=device)
    events = []
    for _ in range(repeats):
        cache.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        events.append((start, end))
    torch.cuda.synchronize()
    return [1e3 * start.elapsed_time(end) for start, end in events]


def copy_bytes_per_s(device: torch.device, size_bytes: int, repeats: int) -> float:
    """Bytes read and written per second by torch's copy of a tensor."""
    source = torch.zeros(size_bytes, dtype=torch.int8, device=device)
    target = torch.empty_like(source)
    found = time_call(lambda: target.copy_(source), device, repeats)
    return 2 * size_bytes / found.median_us * 1e6
