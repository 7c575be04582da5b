"""Decode attention as an LLVM module; a task is one row and one KV head."""

from __future__ import annotations

import torch
from llvmlite import ir

from murmur_kernels.compiled.arguments import ATTENTION
from murmur_kernels.compiled.program import add_program
from murmur_kernels.compiled.task import add_task

ENTRY_POINT = "murmur_decode_attention"


def attention_module(
    head_dim: int,
    dtype: torch.dtype,
    summaries: torch.dtype | None,
    *,
    second_order: bool,
    grouped: bool,
) -> str:
    """LLVM IR of the entry point and all it calls.

    `summaries` is the type of their means, None without any, and `second_order` whether they have
    deviations and tilts; `grouped` says whether several query heads share a KV head.
    """
    module = ir.Module(ENTRY_POINT)
    task = add_task(
        *(module, head_dim, dtype, summaries), second_order=second_order, grouped=grouped
    )
    add_program(module, ENTRY_POINT, task, ATTENTION)
    return str(module)
