"""Attention of one query token per row over selected entries of an arena, and over summaries.

    out[r, i] = sum_j p_j v_j,   p = softmax_j(s_j),   log_sum_exp[r, i] = log sum_j exp(s_j)

with a term j for each selected entry of slot slots[r] and KV head h = i // (query_heads /
kv_heads), s_j = scale * q[r, i] . k_j; and one for each summary of (r, h), s_j = scale *
q[r, i] . key_j + log_count_j. What summaries of second order add, `SecondOrder` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch

from murmur_kernels.attended import Attended
from murmur_kernels.checks import ARENA_DTYPES, check_arena, check_probe_heads
from murmur_kernels.choose_groups import check_choice_fits, choose_groups, compiled_choice
from murmur_kernels.compiled import LANES
from murmur_kernels.dispatch import implementation
from murmur_kernels.group_choice import GroupChoice
from murmur_kernels.ranges import StepRanges
from murmur_kernels.selection import Selection
from murmur_kernels.term_trace import TermTrace

if TYPE_CHECKING:
    from murmur_kernels.compiled.machine_code import MachineCode

Path = Literal["triton", "compiled", "torch"]

MAX_DEVICE_HEAD_DIM = 256
"""Beyond it a tile of the Triton kernel would not fit the memory of a processor."""


def decode_attention(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    selection: StepRanges | Selection,
    scale: float,
    probe_heads: Sequence[int] = (),
    *,
    log_sum_exp: bool = False,
    choice: GroupChoice | None = None,
    trace: TermTrace | None = None,
) -> Attended:
    """Attend over the selected terms only; no other entry is read. Has no gradient.

    Ranges known on the host come as `StepRanges`; ranges, lists per KV head and summaries that
    live on the device as a `Selection`, which nobody waits for on CUDA. A row that selects
    nothing, as one that is not active, has a result of zero and a log-sum-exp of -inf. A row's
    result depends on that row alone.

    `decode_attention_path` tells what it runs on.

    Args:
        query: (rows, query_heads, head_dim), float32 or the arena's dtype, any strides.
        keys, values: (slots, kv_heads, capacity, head_dim), one layer of the arena: float32,
            float16 or bfloat16, any strides with a contiguous last axis.
        selection: what each row reads; `StepRanges` were checked against this arena's sizes.
        scale: factor on the dot products.
        probe_heads: query heads whose probabilities are wanted.
        log_sum_exp: whether it is wanted.
        choice: what the rows at `selection.places` choose first, with these queries; its ranges
            and weights are those that the selection holds. As `choose_groups`, but in one go.
        trace: probabilities are (rows, probe_heads, capacity), at the entries of the slot in the
            order of time. Only where `decode_attention_path` says 'compiled'. None: as
            `Attended` has them.

    Raises:
        ValueError: shapes, dtypes, strides, ranges or probe heads that do not fit; on the CPU also
            numbers of a `Selection` that do not.
        RuntimeError: a device that no implementation is for.
    """
    check_arena(query, keys, values)
    if isinstance(selection, StepRanges):
        selection.check_fits(query.shape[0], keys.shape[0], keys.shape[2])
    else:
        selection.check_fits(query, keys)
    check_probe_heads(probe_heads, query.shape[1])
    if choice is not None:
        if not isinstance(selection, Selection) or selection.places is None:
            raise ValueError("a choice needs a selection with the places of its rows")
        check_choice_fits(query, choice, selection.places)
    on_device = implementation(query.device) == "triton"
    summaries = selection.summaries if isinstance(selection, Selection) else None
    code = None
    if not on_device:
        code = _machine_code(
            keys.dtype,
            keys.shape[3],
            summaries=None if summaries is None else summaries.keys.dtype,
            second_order=summaries is not None and summaries.second_order is not None,
            grouped=query.shape[1] > keys.shape[1],
        )
    chooser = None if choice is None or code is None else compiled_choice(choice, query.device)
    if choice is not None and chooser is None:
        assert isinstance(selection, Selection)
        assert selection.places is not None
        choose_groups(query, choice, selection.places, scale)
    if trace is not None and (code is None or not isinstance(selection, Selection)):
        raise ValueError("a trace needs a Selection, and a path that is compiled")
    if isinstance(selection, Selection) and code is None:
        selection = selection.by_row()
    if on_device:
        return _on_device(query, keys, values, selection, scale, probe_heads, log_sum_exp)
    if code is not None:
        from murmur_kernels.compiled.attention import compiled_attention

        return compiled_attention(
            code,
            query,
            keys,
            values,
            selection,
            scale,
            probe_heads,
            log_sum_exp=log_sum_exp,
            chooser=None if choice is None or chooser is None else (chooser, choice),
            trace=trace,
        )
    from murmur_kernels.torch_ops.decode_attention import (
        attention_over_ranges,
        attention_over_selection,
    )

    if isinstance(selection, Selection):
        return attention_over_selection(
            query, keys, values, selection, scale, probe_heads, log_sum_exp=log_sum_exp
        )
    return attention_over_ranges(
        query, keys, values, selection, scale, probe_heads, log_sum_exp=log_sum_exp
    )


def decode_attention_path(device: torch.device, dtype: torch.dtype, head_dim: int) -> Path:
    """How an arena on `device`, of `dtype` and `head_dim`, is attended over.

    'triton' are kernels on the device, 'compiled' is machine code made for this processor,
    'torch' are torch's own operations.

    Raises:
        RuntimeError: a device that no implementation is for.
    """
    if implementation(device) == "triton":
        return "triton"
    code = _machine_code(dtype, head_dim, summaries=None, second_order=False, grouped=False)
    return "torch" if code is None else "compiled"


def _machine_code(
    dtype: torch.dtype,
    head_dim: int,
    *,
    summaries: torch.dtype | None,
    second_order: bool,
    grouped: bool,
) -> MachineCode | None:
    if dtype not in ARENA_DTYPES or head_dim % LANES:
        return None
    try:
        from murmur_kernels.compiled.machine_code import machine_code
    except ImportError:  # no llvmlite for this platform
        return None
    return machine_code(head_dim, dtype, summaries, second_order=second_order, grouped=grouped)


def _on_device(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    selection: StepRanges | Selection,
    scale: float,
    probe_heads: Sequence[int],
    log_sum_exp: bool,
) -> Attended:
    from murmur_kernels.triton_kernels.decode_attention import triton_attention

    rows, heads, dim = query.shape
    if dim > MAX_DEVICE_HEAD_DIM:
        raise ValueError(f"head size {dim} is beyond {MAX_DEVICE_HEAD_DIM}, the largest on CUDA")
    at_entries = isinstance(selection, StepRanges)
    if isinstance(selection, StepRanges):
        selection = selection.on(query.device)
    out = torch.empty_like(query, memory_format=torch.contiguous_format)
    lse = torch.empty(rows, heads, device=query.device) if log_sum_exp else None
    probabilities = None
    if probe_heads:
        width = keys.shape[2] if at_entries else selection.terms_bound(keys.shape[2])
        probabilities = torch.empty(rows, heads, width, device=query.device)
    triton_attention(
        query,
        keys,
        values,
        selection,
        scale,
        out=out,
        lse=lse,
        probabilities=probabilities,
        at_entries=at_entries,
    )
    if probabilities is not None and list(probe_heads) != list(range(heads)):
        # Not by a list as index, which would have to be copied to the device first.
        probabilities = torch.stack([probabilities[:, head] for head in probe_heads], dim=1)
    return Attended(out, probabilities, lse)
