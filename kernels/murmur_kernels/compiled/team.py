"""Runs a function on the threads that torch itself uses.

A second pool of threads beside torch's would keep both waking and sleeping at every step.
GCC's OpenMP and its relatives start a parallel region by `GOMP_parallel`; it is looked up through
torch's own library, so the one that is found is the one torch runs on.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from murmur_kernels.compiled.machine_code import MachineCode

ParallelRegion = Callable[[int, object, int, int], object]


@functools.cache
def parallel_region() -> ParallelRegion | None:
    """`GOMP_parallel(function, data, threads, flags)`; None where torch's OpenMP has none."""
    try:
        function = ctypes.CDLL(torch._C.__file__).GOMP_parallel
    except (AttributeError, OSError):
        return None
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    function.restype = None
    return function


def team_size(tasks: int) -> int:
    """Threads that `tasks` of equal worth can keep busy."""
    return 1 if parallel_region() is None else min(torch.get_num_threads(), tasks)


def run_on_team(code: MachineCode, block: ctypes.Structure, threads: int) -> None:
    """Call the entry point with the block from so many threads."""
    region = parallel_region()
    if threads == 1 or region is None:
        code.call(ctypes.addressof(block))
    else:
        region(code.address, ctypes.addressof(block), threads, 0)
