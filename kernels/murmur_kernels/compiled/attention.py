"""Calls the compiled kernel: argument block, scratch, threads."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

import torch

from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.machine_code import MachineCode
from murmur_kernels.compiled.program import ARGUMENTS, BLOCK_ENTRIES
from murmur_kernels.compiled.team import parallel_region, team_size
from murmur_kernels.ranges import StepRanges

ArgumentBlock = ctypes.c_int64 * len(ARGUMENTS)


def compiled_attention(
    code: MachineCode,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    step: StepRanges,
    scale: float,
    probe_heads: Sequence[int],
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """`decode_attention` on checked arguments, by `code` of their head size and dtype."""
    rows, heads, dim = query.shape
    kv_heads = keys.shape[1]
    group = heads // kv_heads
    tasks = rows * kv_heads
    threads = team_size(tasks)
    wide_query = query.float().contiguous()
    out = torch.empty_like(wide_query)
    probes, probabilities = (ctypes.c_int64 * len(probe_heads))(*probe_heads), None
    if probe_heads:
        probabilities = torch.zeros(rows, len(probe_heads), step.capacity)
    # A tile writes whole vectors, and the softmax one vector beyond the last entry.
    scores = -(-step.max_entries // LANES) * LANES + LANES
    scores_offset = (group + (BLOCK_ENTRIES if group > 1 else 0)) * dim
    scratch = torch.empty(threads, scores_offset + group * scores)
    key_strides, value_strides = keys.stride(), values.stride()
    size = keys.element_size()
    block = ArgumentBlock(
        *(0, 0, tasks, kv_heads, group, int.from_bytes(struct.pack("<f", scale), "little")),
        *(wide_query.data_ptr(), out.data_ptr(), ctypes.addressof(step.table)),
        *(keys.data_ptr(), *(size * stride for stride in key_strides[:3])),
        *(values.data_ptr(), *(size * stride for stride in value_strides[:3])),
        *(scratch.data_ptr(), 4 * scratch.shape[1], 4 * scores_offset, 4 * scores),
        *(len(probe_heads), ctypes.addressof(probes)),
        *(0 if probabilities is None else probabilities.data_ptr(), step.capacity),
    )
    region = parallel_region()
    if threads == 1 or region is None:
        code.call(ctypes.addressof(block))
    else:
        region(code.address, ctypes.addressof(block), threads, 0)
    return out.to(query.dtype), probabilities
