"""LLVM modules made into machine code of this processor, kept for the life of the process.

Nothing is stored on disk: the code is made in about 0.1 s, and a cache would have to be kept
right across processors and versions, and work in installations that are read-only.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Callable
from typing import Any

import torch
from llvmlite import binding

from murmur_kernels.compiled.attention_module import ENTRY_POINT, attention_module

NEEDED_FEATURES = ("avx2", "fma", "f16c")
"""Without them LLVM would call library functions, which this process may not have."""


def runs_here() -> bool:
    """Whether this processor is one that the code is made for and tested on."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    features = binding.get_host_cpu_features()
    return all(features.get(name, False) for name in NEEDED_FEATURES)


class MachineCode:
    """The compiled entry point of a module.

    Attributes:
        address: of `void (int64 *arguments)`.
        call: the same, on the calling thread; the interpreter lock is released meanwhile.
    """

    def __init__(self, assembly: str, entry_point: str) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        module = binding.parse_assembly(assembly)
        machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine(
            cpu=binding.get_host_cpu_name(),
            features=binding.get_host_cpu_features().flatten(),
            opt=3,
        )
        # The engine owns the code: it must live as long as the address is used.
        self._engine: Any = binding.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        self.address: int = self._engine.get_function_address(entry_point)
        self.call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.address)

    def address_of(self, function: str) -> int:
        """Of another public function of the module."""
        return int(self._engine.get_function_address(function))


def made_here(assembly: Callable[[], str], entry_point: str) -> MachineCode | None:
    """The code of a module; None where this processor or this LLVM is not fit for it."""
    if not runs_here():
        return None
    try:
        return MachineCode(assembly(), entry_point)
    except RuntimeError:  # llvmlite's error for a module that LLVM does not accept
        return None


@functools.cache
def machine_code(
    head_dim: int,
    dtype: torch.dtype,
    summaries: torch.dtype | None,
    *,
    second_order: bool,
    grouped: bool,
) -> MachineCode | None:
    """The code for a head size, an arena's dtype, that of summaries (None: there are none) and
    whether these are of second order, and one or several query heads a KV head.

    Made at the first call. None where it cannot be made.
    """
    return made_here(
        lambda: attention_module(
            head_dim, dtype, summaries, second_order=second_order, grouped=grouped
        ),
        ENTRY_POINT,
    )
