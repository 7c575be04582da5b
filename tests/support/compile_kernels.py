"""Compiles the Triton kernels that a launch would use for a GPU, on a machine without one.

The interpreter takes what the compiler refuses (variables that change type in a loop, branches
that do not exist for a constant), so both are needed. Run as a script, without TRITON_INTERPRET:

    python tests/support/compile_kernels.py [--capability 90 ...] [--only "all" ...]

Prints one JSON object per kernel: its bytes of shared memory, registers, and bytes spilled.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

POINTERS = {
    torch.float32: "*fp32",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.int32: "*i32",
    torch.bool: "*i1",
}
OPTIONS = ("num_warps", "num_stages")


@dataclass
class RecordedKernel:
    """Stands for a kernel in its launcher's module; launching it keeps the arguments."""

    kernel: Any
    launches: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def __getitem__(self, grid: object) -> Callable[..., None]:
        return lambda *arguments, **named: self.launches.append((arguments, named))


@contextmanager
def recorded(module: ModuleType) -> Iterator[list[RecordedKernel]]:
    """Replaces the kernels that a module launches, and puts them back."""
    kernels = {
        name: RecordedKernel(value)
        for name, value in vars(module).items()
        if isinstance(value, triton.runtime.JITFunction)
    }
    for name, stand_in in kernels.items():
        setattr(module, name, stand_in)
    try:
        yield list(kernels.values())
    finally:
        for name, stand_in in kernels.items():
            setattr(module, name, stand_in.kernel)


def compile_launch(
    kernel: Any, arguments: tuple[Any, ...], named: dict[str, Any], capability: int
) -> dict[str, object]:
    """Compile one launch as Triton would specialise it; what it needs of a processor."""
    values = dict(zip(kernel.arg_names, arguments, strict=False)) | named
    constants = {p.name for p in kernel.params if p.is_constexpr}
    signature, constexprs, attributes = {}, {}, {}
    for number, name in enumerate(kernel.arg_names):
        value = values[name]
        divisible = False
        if name in constants or value is None or (type(value) is int and value == 1):
            signature[name], constexprs[name] = "constexpr", value
        elif isinstance(value, torch.Tensor):
            signature[name] = POINTERS[value.dtype]
            divisible = value.data_ptr() % 16 == 0
        else:
            signature[name] = "fp32" if isinstance(value, float) else "i32"
            divisible = isinstance(value, int) and value % 16 == 0
        if divisible:
            attributes[(number,)] = [["tt.divisibility", 16]]
    compiled = triton.compile(
        ASTSource(kernel, signature, constexprs, attributes),
        target=GPUTarget("cuda", capability, 32),
        options={name: named[name] for name in OPTIONS if name in named},
    )
    return {"kernel": kernel.__name__, "shared_bytes": compiled.metadata.shared} | _assembled(
        compiled.asm["ptx"], capability
    )


def _assembled(ptx: str, capability: int) -> dict[str, int]:
    """Registers of a thread and bytes it spills, by the assembler that comes with Triton."""
    assembler = Path(triton.__file__).parent / "backends/nvidia/bin/ptxas"
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        architecture = f"sm_{capability}{'a' if capability >= 90 else ''}"
        command = [str(assembler), "-v", f"--gpu-name={architecture}", file.name]
        run = subprocess.run(
            [*command, "-o", "/dev/null"], capture_output=True, text=True, check=True
        )
    registers = re.search(r"Used (\d+) registers", run.stderr)
    spilled = re.search(r"(\d+) bytes spill stores", run.stderr)
    assert registers is not None
    assert spilled is not None
    return {"registers": int(registers[1]), "spilled_bytes": int(spilled[1])}


def attention_launches(only: Sequence[str]) -> Iterator[tuple[str, list[RecordedKernel]]]:
    """What decode attention launches in its variants, or in those of the given names."""
    from murmur_kernels.triton_kernels import decode_attention as module
    from support.attention_case import Head, Row, make_case

    bfloat16, float16, float32 = torch.bfloat16, torch.float16, torch.float32
    every = [Head([(0, 3)] * 9, [5] * 9, summaries=9)] * 2
    for name, heads, ratio, dim, dtype, query_dtype in (
        ("ranges", [], 7, 128, bfloat16, bfloat16),
        ("head ranges", [Head([(0, 3)] * 128)] * 2, 7, 128, bfloat16, bfloat16),
        ("indices", [Head([], [5] * 9)] * 2, 7, 128, bfloat16, bfloat16),
        ("all", every, 7, 128, bfloat16, bfloat16),
        ("all, float32", every, 4, 64, float32, float32),
        ("all, float32 query", every, 8, 96, float16, float32),
        ("all, ungrouped", every, 1, 80, float16, float16),
        ("second order", every, 7, 128, bfloat16, bfloat16),
        ("second order, float32", every, 4, 64, float32, float32),
        ("second order, float32 query", every, 8, 96, float16, float32),
        ("second order, ungrouped", every, 1, 80, float16, float16),
    ):
        if only and name not in only:
            continue
        case = make_case(
            [Row(0, [(0, 9)], heads)], ratio=ratio, dim=dim, dtype=dtype, query_dtype=query_dtype,
            max_terms=2048, second_order=name.startswith("second order"),
        )  # fmt: skip
        rows, number, _ = case.query.shape
        with recorded(module) as kernels:
            for splits, seen in ((1, None), (8, torch.empty(rows, number, 2048))):
                module.triton_attention(
                    *(case.query, case.keys, case.values, case.selection, case.scale),
                    out=torch.empty_like(case.query),
                    lse=torch.empty(rows, number),
                    probabilities=seen,
                    splits=splits,
                )
        yield name, kernels


def main() -> None:
    """Parse the command line, compile, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--capability", type=int, nargs="+", default=[80, 90])
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    for name, kernels in attention_launches(options.only):
        for capability in options.capability:
            for stand_in in kernels:
                for arguments, named in stand_in.launches:
                    found = compile_launch(stand_in.kernel, arguments, named, capability)
                    print(
                        json.dumps({"launch": name, "capability": capability} | found), flush=True
                    )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
