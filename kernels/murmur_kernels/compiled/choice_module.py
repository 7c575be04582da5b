"""The choice of groups as an LLVM module; a task is one row and one KV head."""

from __future__ import annotations

import functools

from llvmlite import ir

from murmur_kernels.compiled.choice_arguments import CHOICE
from murmur_kernels.compiled.choice_task import add_choice_task
from murmur_kernels.compiled.machine_code import MachineCode, made_here
from murmur_kernels.compiled.program import add_program
from murmur_kernels.group_choice import ChoiceKind

ENTRY_POINT = "murmur_choose_groups"

CHOOSE = "murmur_choose_groups_task"
"""The task alone, `void (block *arguments, scratch, int64 number)`."""


def choice_module(kind: ChoiceKind) -> str:
    """LLVM IR of the entry point, the task, and all they call."""
    module = ir.Module(ENTRY_POINT)
    add_program(module, ENTRY_POINT, add_choice_task(module, CHOOSE, kind), CHOICE)
    return str(module)


@functools.cache
def choice_code(kind: ChoiceKind) -> MachineCode | None:
    """Made at the first call; None where it cannot be made."""
    return made_here(lambda: choice_module(kind), ENTRY_POINT)
