"""Calls the compiled kernel: argument block, scratch, threads."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import NoReturn

import torch

from murmur_kernels.attended import Attended
from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.arguments import ATTENTION
from murmur_kernels.compiled.blocks import BLOCK_ENTRIES
from murmur_kernels.compiled.choice import choice_block, choice_scratch_bytes
from murmur_kernels.compiled.choice_module import CHOOSE
from murmur_kernels.compiled.code import CACHE_LINE_BYTES as LINE
from murmur_kernels.compiled.machine_code import MachineCode
from murmur_kernels.compiled.selected import selection_arguments, step_arguments
from murmur_kernels.compiled.softmax import SCORES_BEYOND
from murmur_kernels.compiled.task import HEADER_BYTES
from murmur_kernels.compiled.team import run_on_team, team_size
from murmur_kernels.compiled.terms import LISTS_BEYOND
from murmur_kernels.group_choice import GroupChoice
from murmur_kernels.ranges import StepRanges
from murmur_kernels.selection import Selection
from murmur_kernels.term_trace import TermTrace


def compiled_attention(
    code: MachineCode,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    selection: StepRanges | Selection,
    scale: float,
    probe_heads: Sequence[int],
    *,
    log_sum_exp: bool,
    chooser: tuple[MachineCode, GroupChoice] | None = None,
    trace: TermTrace | None = None,
) -> Attended:
    """`decode_attention` on checked arguments, by `code` made for them.

    `chooser` is the code of a choice that comes first, and that choice.

    Raises:
        ValueError: a selection that does not fit the arena, by what its tensors hold.
    """
    rows, heads, dim = query.shape
    num_slots, kv_heads, capacity = keys.shape[:3]
    group = heads // kv_heads
    tasks = rows * kv_heads
    at_entries = isinstance(selection, StepRanges)
    if isinstance(selection, StepRanges):
        chosen, max_terms = step_arguments(selection), selection.max_entries
    else:
        chosen, max_terms = selection_arguments(selection), selection.terms_bound(capacity)
    threads = team_size(tasks)
    wide_query = query.float().contiguous()
    out = torch.empty_like(wide_query)
    sums = torch.empty(rows, heads, 2) if log_sum_exp else None
    width = capacity if at_entries or trace is not None else max_terms
    probabilities = None
    if probe_heads:
        probabilities = torch.zeros(rows, len(probe_heads), width)
    probes = (ctypes.c_int32 * len(probe_heads))(*probe_heads)
    # A thread's scratch, in bytes. Its parts begin with cache lines: a vector in two is slow.
    room = _up(max_terms, LANES)
    lists = _up(HEADER_BYTES + 4 * dim * (group + (BLOCK_ENTRIES if group > 1 else 0)), LINE)
    list_bytes = 8 * (room + LISTS_BEYOND)
    scores, scores_stride = lists + 2 * list_bytes, _up(4 * (room + SCORES_BEYOND), LINE)
    score_bytes, choose, choosing = group * scores_stride, 0, None
    if chooser is not None and isinstance(selection, Selection):
        made, choice = chooser
        choose = made.address_of(CHOOSE)
        assert selection.places is not None
        choosing = choice_block(choice, wide_query, selection.places, scale)
        score_bytes = max(score_bytes, choice_scratch_bytes(choice))
    scratch = torch.empty(threads, scores + score_bytes, dtype=torch.uint8)
    block = ATTENTION.block(
        **chosen,
        **({} if trace is None else _trace_arguments(trace)),
        **ATTENTION.tensor_arguments("keys", keys),
        **ATTENTION.tensor_arguments("values", values),
        tasks=tasks,
        kv_heads=kv_heads,
        group=group,
        scale=int.from_bytes(struct.pack("<f", scale), "little"),
        num_slots=num_slots,
        capacity=capacity,
        max_terms=max_terms,
        query=wide_query.data_ptr(),
        out=out.data_ptr(),
        sums=0 if sums is None else sums.data_ptr(),
        probes=len(probe_heads),
        probe_heads=ctypes.addressof(probes),
        probabilities=0 if probabilities is None else probabilities.data_ptr(),
        probabilities_stride_0=4 * width,
        at_entries=at_entries,
        scratch=scratch.data_ptr(),
        scratch_stride=scratch.shape[1],
        keys_offset=lists,
        values_offset=lists + list_bytes,
        scores_offset=scores,
        scores_stride=scores_stride,
        choose=choose,
        choice=0 if choosing is None else ctypes.addressof(choosing.block),
    )
    run_on_team(code, block, threads)
    if block.faults:
        _tell_fault(selection, num_slots, capacity)
    lse = None if sums is None else torch.log(sums[..., 1]).add_(sums[..., 0])
    return Attended(out.to(query.dtype), probabilities, lse)


def _up(value: int, unit: int) -> int:
    """The next multiple."""
    return -(-value // unit) * unit


def _trace_arguments(trace: TermTrace) -> dict[str, int]:
    found = {"in_time": 1, "permuted": 0}
    if trace.permutation is not None:
        found["permuted"] = trace.permutation.shape[2]
    for name, tensor in (
        ("first_entries", trace.first_entries),
        ("permutation", trace.permutation),
        ("span_starts", trace.starts),
        ("span_ends", trace.ends),
    ):
        if tensor is not None:
            found |= ATTENTION.tensor_arguments(name, tensor)
    return found


def _tell_fault(selection: StepRanges | Selection, num_slots: int, capacity: int) -> NoReturn:
    assert isinstance(selection, Selection), "step_ranges checks what it packs"
    selection.check_contents(num_slots, capacity)
    raise ValueError("the selection changed while it was read, and did not fit the arena")
