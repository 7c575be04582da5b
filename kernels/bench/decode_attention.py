"""Times decode attention side by side: torch's SDPA, torch on views, compiled.

Variants take turns in every repeat, so that a busy machine slows all of them; each reads all
layers in turn, so that entries come from memory. Results are checked against the float64
reference in the same run. Prints a table; `--json` also writes the figures.

    python kernels/bench/decode_attention.py --rows 1 16 --shares 1 0.25 --threads 2
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch.nn import functional

from murmur_kernels import (
    Selection,
    StepRanges,
    decode_attention,
    decode_attention_path,
    step_ranges,
)
from murmur_kernels.reference.decode_attention import decode_attention_reference
from murmur_kernels.torch_ops.decode_attention import attention_over_ranges

CPU = torch.device("cpu")
ERROR_LIMIT = 1e-5
"""Largest error relative to the largest result, to the reference on the rounded inputs."""

Attention = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, StepRanges], torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of the arena; Whisper base's cross-attention unless told otherwise."""

    layers: int = 6
    heads: int = 8
    entries: int = 1500
    head_dim: int = 64


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One variant on one number of rows and share of entries.

    Attributes:
        median_ms, low_ms, high_ms: one pass over all layers: median and quartiles.
        processor_ms: median of the time that processors spent on a pass, all threads together;
            on a machine with other work it says more than the clock.
        read_bytes: keys and values that a pass reads.
        error: largest error relative to the largest result.
    """

    variant: str
    rows: int
    share: float
    median_ms: float
    low_ms: float
    high_ms: float
    processor_ms: float
    read_bytes: int
    error: float

    @property
    def bandwidth_gb_s(self) -> float:
        """Bytes read per second, in 10^9."""
        return self.read_bytes / self.median_ms / 1e6


def sdpa(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, step: StepRanges
) -> torch.Tensor:
    """torch's fused attention; all rows must read one and the same range of their own slots."""
    (start, end) = step.ranges[0][0]
    return functional.scaled_dot_product_attention(
        query[:, :, None], keys[:, :, start:end], values[:, :, start:end], scale=1.0
    )[:, :, 0]


def on_views(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, step: StepRanges
) -> torch.Tensor:
    """The implementation without compiled code."""
    return attention_over_ranges(query, keys, values, step, 1.0).out


def compiled(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, step: StepRanges
) -> torch.Tensor:
    """What `decode_attention` chooses; listed only where it chooses compiled code."""
    return decode_attention(query, keys, values, step, 1.0).out


def variants(head_dim: int) -> dict[str, tuple[Attention, torch.dtype]]:
    """Names of what can run here, with their function and arena dtype."""
    found: dict[str, tuple[Attention, torch.dtype]] = {
        "sdpa float32": (sdpa, torch.float32),
        "torch float32": (on_views, torch.float32),
    }
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        if decode_attention_path(CPU, dtype, head_dim) == "compiled":
            found[f"compiled {str(dtype).removeprefix('torch.')}"] = (compiled, dtype)
    return found


def measure(shape: Shape, rows: int, share: float, repeats: int) -> list[Measurement]:
    """All variants on one arena.

    Raises:
        ValueError: a variant's error is beyond ERROR_LIMIT.
    """
    generator = torch.Generator().manual_seed(0)
    size = (shape.layers, rows, shape.heads, shape.entries, shape.head_dim)
    keys, values = torch.randn(size, generator=generator), torch.randn(size, generator=generator)
    query = 0.3 * torch.randn(rows, shape.heads, shape.head_dim, generator=generator)
    count = max(1, round(share * shape.entries))
    step = step_ranges(range(rows), [((0, count),)] * rows, num_slots=rows, capacity=shape.entries)
    chosen = variants(shape.head_dim)
    arenas = {dtype: (keys.to(dtype), values.to(dtype)) for _, dtype in chosen.values()}
    times_ms: dict[str, list[float]] = {name: [] for name in chosen}
    processor_ms: dict[str, list[float]] = {name: [] for name in chosen}
    errors = {
        name: _error(attention, query, arenas[dtype][0][0], arenas[dtype][1][0], step)
        for name, (attention, dtype) in chosen.items()
    }
    for name, error in errors.items():
        if error > ERROR_LIMIT:
            raise ValueError(f"{name} is off by {error:.1e}, allowed are {ERROR_LIMIT:.0e}")
    for _ in range(repeats):
        for name, (attention, dtype) in chosen.items():
            started, used = time.perf_counter(), time.process_time()
            for layer_keys, layer_values in zip(*arenas[dtype], strict=True):
                attention(query, layer_keys, layer_values, step)
            times_ms[name].append(1e3 * (time.perf_counter() - started))
            processor_ms[name].append(1e3 * (time.process_time() - used))
    read = 2 * shape.layers * rows * shape.heads * count * shape.head_dim
    return [
        Measurement(
            variant=name,
            rows=rows,
            share=share,
            median_ms=statistics.median(times),
            low_ms=_quartile(times, 0),
            high_ms=_quartile(times, 2),
            processor_ms=statistics.median(processor_ms[name]),
            read_bytes=read * chosen[name][1].itemsize,
            error=errors[name],
        )
        for name, times in times_ms.items()
    ]


def _quartile(times: Sequence[float], number: int) -> float:
    return statistics.quantiles(times, n=4, method="inclusive")[number]


def _error(
    attention: Attention,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    step: StepRanges,
) -> float:
    selection = Selection.from_step_ranges(step, CPU)
    wanted = decode_attention_reference(query, keys, values, selection, 1.0).out
    difference = attention(query, keys, values, step).double() - wanted
    return float(difference.abs().max() / wanted.abs().max())


def table(measurements: Sequence[Measurement]) -> str:
    """Lines of text; a ratio is the first variant's median of the same rows and share by this."""
    lines = [
        "variant             rows share  median ms   quartiles ms    GB/s  ratio"
        "   cpu ms  ratio  error"
    ]
    base = measurements[0]
    for found in measurements:
        if found.variant == measurements[0].variant:
            base = found
        lines.append(
            f"{found.variant:<19} {found.rows:>4} {found.share:>5.0%} {found.median_ms:>10.2f} "
            f"{found.low_ms:>7.2f}-{found.high_ms:<7.2f} {found.bandwidth_gb_s:>6.1f} "
            f"{base.median_ms / found.median_ms:>5.2f}x {found.processor_ms:>8.2f} "
            f"{base.processor_ms / found.processor_ms:>5.2f}x {found.error:.0e}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--shares", type=float, nargs="+", default=[1.0, 0.5, 0.25])
    parser.add_argument("--entries", type=int, default=Shape.entries)
    parser.add_argument("--layers", type=int, default=Shape.layers)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    shape = Shape(layers=options.layers, entries=options.entries)
    with torch.inference_mode():
        found = [
            measurement
            for rows in options.rows
            for share in options.shares
            for measurement in measure(shape, rows, share, options.repeats)
        ]
    print(table(found))
    if options.json:
        facts = {
            "torch": torch.__version__,
            "processor": torch.backends.cpu.get_cpu_capability(),
            "threads": options.threads,
            "shape": asdict(shape),
            "measurements": [
                asdict(item) | {"bandwidth_gb_s": item.bandwidth_gb_s} for item in found
            ],
        }
        options.json.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
