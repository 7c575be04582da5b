"""An entry point as threads call it: they draw tasks from a counter until none is left."""

from __future__ import annotations

from typing import Any

from murmur_kernels.compiled.argument_block import Arguments, BlockLayout
from murmur_kernels.compiled.code import I64, POINTER, Code


def add_program(module: Any, name: str, task: Any, layout: BlockLayout) -> None:
    """The function `void name(block *arguments)`, which runs `task(arguments, scratch, number)`.

    Every thread of a team calls it with the same arguments, and has scratch memory of its own.
    """
    code = Code(module, name, [POINTER], public=True)
    (block,) = code.arguments
    arguments = Arguments(code, block, layout)
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
