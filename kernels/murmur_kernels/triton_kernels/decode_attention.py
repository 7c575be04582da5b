"""Launches decode attention: split along the terms of a (row, KV head), then combined.

Whatever a step selects, the grid is the same, so that a CUDA graph keeps it.
"""

from __future__ import annotations

from typing import Any

import torch
import triton

from murmur_kernels.ranges import MAX_RANGES
from murmur_kernels.selection import MOST_GAIN, Selection
from murmur_kernels.triton_kernels.attention_splits import (
    attend_split,
    combine_splits,
    normalise_scores,
)

MAX_SPLITS = 64
MIN_SPLIT_TERMS = 128
PROGRAMS_PER_PROCESSOR = 4
"""Two run at a time; as many again even out rows of unequal length."""
PROBABILITY_BLOCK = 1024


def triton_attention(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    selection: Selection,
    scale: float,
    *,
    out: torch.Tensor,
    lse: torch.Tensor | None = None,
    probabilities: torch.Tensor | None = None,
    at_entries: bool = False,
    block: int | None = None,
    splits: int | None = None,
) -> None:
    """`decode_attention` on checked arguments, into given tensors; every element is written.

    Args:
        out: the query's shape.
        lse: (rows, query_heads) float32.
        probabilities: (rows, query_heads, width) float32, contiguous; in the order of the
            selection, or at the arena's entries.
        at_entries: probabilities lie at the arena's entries; a selection without summaries.
        block: terms of a tile, a power of two of at least 16.
        splits: programs that share the terms of a (row, KV head), at most MAX_SPLITS.
    """
    rows, heads, dim = query.shape
    kv_heads, capacity = keys.shape[1:3]
    if rows == 0:
        return
    group = heads // kv_heads
    dim_padded = max(16, triton.next_power_of_2(dim))
    head_ranges = selection.head_ranges
    ranges_padded = 0 if head_ranges is None else triton.next_power_of_2(head_ranges.shape[2])
    spread = None if selection.summaries is None else selection.summaries.second_order
    wide = group > 1 and torch.float32 in (query.dtype, keys.dtype)
    block = block or _block(wide, dim_padded, ranges_padded)
    splits = splits or _splits(query.device, rows * kv_heads, selection.terms_bound(capacity))
    if probabilities is not None:
        probabilities.fill_(-float("inf"))
        if lse is None:
            lse = torch.empty(rows, heads, dtype=torch.float32, device=query.device)
    part, part_lse = out, lse
    if splits > 1:
        shape = (rows, heads, splits)
        part = torch.empty(*shape, dim, dtype=torch.float32, device=query.device)
        part_lse = torch.empty(shape, dtype=torch.float32, device=query.device)
    attend_split[(splits, kv_heads, rows)](
        *(query, *query.stride()),
        *(keys, *keys.stride()[:3]),
        *(values, *values.stride()[:3]),
        *(keys.shape[0], capacity, scale),
        *_selection_arguments(selection),
        *(part, part.stride(0), part.stride(1), part.stride(2) if splits > 1 else 0),
        *_with_strides(part_lse, 3),
        *(*_with_strides(probabilities, 2), 0 if probabilities is None else probabilities.shape[2]),
        GROUP=group,
        GROUP_PADDED=1 if group == 1 else max(16, triton.next_power_of_2(group)),
        DIM=dim,
        DIM_PADDED=dim_padded,
        BLOCK=block,
        RANGES=triton.next_power_of_2(MAX_RANGES),
        HEAD_RANGES=ranges_padded,
        HAS_INDICES=selection.indices is not None,
        HAS_MEANS=selection.summaries is not None,
        HAS_SECOND_ORDER=spread is not None,
        MOST_GAIN=MOST_GAIN,
        HAS_LSE=part_lse is not None,
        HAS_SCORES=probabilities is not None,
        SCORES_AT_ENTRIES=at_entries,
        # The interpreter keeps bfloat16 as bits, and multiplies those.
        WIDE=triton.knobs.runtime.interpret and torch.bfloat16 in (query.dtype, keys.dtype),
        # Float32 products of half tiles need the registers of twice the threads.
        num_warps=8 if wide and query.dtype != keys.dtype else 4,
        # Keys and values behind an index are one load later: as many tiles are then under way.
        num_stages=3 if selection.indices is None else 5,
    )
    if splits > 1:
        combine_splits[(heads, rows)](
            *(part, part_lse, splits),
            *(out, out.stride(0), out.stride(1)),
            *_with_strides(lse, 2),
            DIM=dim,
            DIM_PADDED=dim_padded,
            SPLITS_PADDED=triton.next_power_of_2(splits),
            HAS_LSE=lse is not None,
        )
    if probabilities is not None and probabilities.shape[2]:
        width = probabilities.shape[2]
        normalise_scores[(triton.cdiv(width, PROBABILITY_BLOCK), heads, rows)](
            *(*_with_strides(probabilities, 2), width, *_with_strides(lse, 2)),
            BLOCK=PROBABILITY_BLOCK,
        )


def _block(wide: bool, dim_padded: int, ranges_padded: int) -> int:
    """Terms of a tile: as many as fit registers, and 99 KiB of shared memory."""
    if wide:
        return 32 if dim_padded < 128 else 16
    return 64 if ranges_padded <= 64 and dim_padded <= 128 else 32


def _splits(device: torch.device, pairs: int, terms: int) -> int:
    processors = 1
    if device.type == "cuda":
        processors = torch.cuda.get_device_properties(device).multi_processor_count
    wanted = PROGRAMS_PER_PROCESSOR * processors // pairs
    return max(1, min(wanted, -(-terms // MIN_SPLIT_TERMS), MAX_SPLITS))


def _with_strides(tensor: torch.Tensor | None, axes: int) -> tuple[Any, ...]:
    """The tensor and the strides of its first axes; those it lacks are 0."""
    if tensor is None:
        return (None, *(0,) * axes)
    strides = tensor.stride()[:axes]
    return (tensor, *strides, *(0,) * (axes - len(strides)))


def _selection_arguments(selection: Selection) -> tuple[Any, ...]:
    means = selection.summaries
    spread = None if means is None else means.second_order
    return (
        *_with_strides(selection.slots, 1),
        *_with_strides(selection.active, 1),
        *_with_strides(selection.ranges, 1),
        *_with_strides(selection.num_ranges, 1),
        *_with_strides(selection.head_ranges, 2),
        *_with_strides(selection.num_head_ranges, 2),
        *_with_strides(selection.indices, 2),
        *_with_strides(selection.num_indices, 2),
        *_with_strides(None if means is None else means.keys, 3),
        *_with_strides(None if means is None else means.values, 3),
        *_with_strides(None if means is None else means.log_counts, 3),
        *_with_strides(None if means is None else means.counts, 2),
        *_with_strides(None if spread is None else spread.deviations, 3),
        *_with_strides(None if spread is None else spread.tilts, 2),
    )
