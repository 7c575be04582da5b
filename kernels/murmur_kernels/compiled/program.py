"""The whole kernel as an LLVM module: threads draw tasks, a task is one row and one KV head."""

from __future__ import annotations

import torch
from llvmlite import ir

from murmur_kernels.compiled.arguments import Arguments
from murmur_kernels.compiled.code import I64, POINTER, Code
from murmur_kernels.compiled.task import add_task

ENTRY_POINT = "murmur_decode_attention"


def attention_module(
    head_dim: int, dtype: torch.dtype, summaries: torch.dtype | None, *, grouped: bool
) -> str:
    """LLVM IR of the entry point `void (ArgumentBlock *arguments)` and all it calls.

    Every thread of a team calls it with the same arguments; it returns when no task is left.
    `summaries` is the type of their means, None without any; `grouped` says whether several query
    heads share a KV head.
    """
    module = ir.Module(ENTRY_POINT)
    task = add_task(module, head_dim, dtype, summaries, grouped=grouped)
    code = Code(module, ENTRY_POINT, [POINTER], public=True)
    (block,) = code.arguments
    arguments = Arguments(code, block)
    build = code.build
    worker = build.atomic_rmw("add", arguments.place("next_worker"), I64(1), "monotonic")
    scratch = code.at(arguments.address("scratch"), (worker, arguments.number("scratch_stride")))
    draw_task, run_task, done = (build.append_basic_block() for _ in range(3))
    build.branch(draw_task)
    build.position_at_end(draw_task)
    number = build.atomic_rmw("add", arguments.place("next_task"), I64(1), "monotonic")
    build.cbranch(build.icmp_signed("<", number, arguments.number("tasks")), run_task, done)
    build.position_at_end(run_task)
    build.call(task, [block, scratch, number])
    build.branch(draw_task)
    build.position_at_end(done)
    build.ret_void()
    return str(module)
