"""Times decode attention over selections beside torch's SDPA and FlashInfer, on a CUDA device.

At the flagship's heads (28 of query, 4 of KV, size 128, bfloat16) and 16 rows. Each variant is
checked against the float64 reference in the same run. Bytes are those of the selected keys and
values, whatever a variant reads, so that shares of the bandwidth compare times. Without a CUDA
device that part is not run, and a small one runs on the CPU to show that all variants agree.

    python kernels/bench/decode_attention_device.py --json figures.json
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from device_timing import Spread, copy_bytes_per_s, time_call
from torch.nn import functional

from murmur_kernels import Selection, decode_attention
from murmur_kernels.reference.decode_attention import decode_attention_reference, selected_entries

RANGE_ENTRIES = 16
"""Entries of a range of a list, as a leaf-ordered tree gives them."""
COPY_BYTES = {"cuda": 2**30, "cpu": 2**26}
ERROR_LIMIT = {torch.bfloat16: 1e-2, torch.float32: 1e-5}
"""Largest error relative to the largest result, to the reference on the rounded inputs."""
TARGETS = {"all entries": 0.75, "six ranges": 0.75, "head ranges": 0.75, "indices": 0.6}
"""Share of the copy's bandwidth that each kind of selection should reach."""

Call = Callable[[], torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The flagship's, unless told otherwise."""

    rows: int = 16
    heads: int = 28
    kv_heads: int = 4
    head_dim: int = 128


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One variant on one kind of selection.

    Attributes:
        length, budget: entries of a slot, and those that each KV head of a row reads.
        bytes_per_s: selected bytes by median time.
        copy_share: bytes_per_s by those of a copy.
        error: largest error of the first row, relative to its largest result.
    """

    selection: str
    variant: str
    length: int
    budget: int
    time: Spread
    bytes_per_s: float
    copy_share: float
    error: float


@dataclass(frozen=True)
class Problem:
    """One arena and what is read of it, the same number of entries for each KV head."""

    query: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    selection: Selection
    entries: torch.Tensor  # (rows, kv_heads, budget) int64
    scale: float


def make_problem(
    shape: Shape, kind: str, length: int, budget: int, device: torch.device, dtype: torch.dtype
) -> Problem:
    """Random tensors; a selection of `kind`, one of TARGETS."""
    generator = torch.Generator(device).manual_seed(0)
    size = (shape.rows, shape.kv_heads, length, shape.head_dim)
    made = {"generator": generator, "device": device, "dtype": dtype}
    keys, values = torch.randn(size, **made), torch.randn(size, **made)
    query = torch.randn(shape.rows, shape.heads, shape.head_dim, **made)
    selection = make_selection(shape, kind, length, budget, device)
    rows = [
        [selected_entries(selection, row, head) for head in range(shape.kv_heads)]
        for row in range(shape.rows)
    ]
    entries = torch.tensor(rows, dtype=torch.int64, device=device)
    return Problem(query, keys, values, selection, entries, shape.head_dim**-0.5)


def make_selection(
    shape: Shape, kind: str, length: int, budget: int, device: torch.device
) -> Selection:
    """Every KV head of every row reads `budget` of `length` entries."""
    generator = torch.Generator().manual_seed(1)
    rows, kv_heads = shape.rows, shape.kv_heads
    shared = torch.zeros(rows, 6, 2, dtype=torch.int32)
    num_shared = torch.zeros(rows, dtype=torch.int32)
    lists: dict[str, torch.Tensor] = {}
    if kind == "all entries":
        shared[:, 0, 1], num_shared[:] = length, 1
    elif kind == "six ranges":
        edges = torch.linspace(0, budget, 7).int()
        shared[:, :, 0] = torch.linspace(0, length - budget, 6).int() + edges[:-1]
        shared[:, :, 1] = shared[:, :, 0] + edges.diff()
        num_shared[:] = 6
    elif kind == "head ranges":
        number = budget // RANGE_ENTRIES
        places = _random_order(rows * kv_heads, length // RANGE_ENTRIES, number, generator)
        starts = RANGE_ENTRIES * places.view(rows, kv_heads, number)
        lists["head_ranges"] = torch.stack([starts, starts + RANGE_ENTRIES], 3).int()
        lists["num_head_ranges"] = torch.full((rows, kv_heads), number).int()
    else:
        places = _random_order(rows * kv_heads, length, budget, generator)
        lists["indices"] = places.view(rows, kv_heads, budget).int()
        lists["num_indices"] = torch.full((rows, kv_heads), budget).int()
    return Selection(
        slots=torch.arange(rows, dtype=torch.int32, device=device),
        active=torch.ones(rows, dtype=torch.bool, device=device),
        ranges=shared.to(device),
        num_ranges=num_shared.to(device),
        max_terms=budget,
        **{name: tensor.to(device) for name, tensor in lists.items()},
    )


def first_row(selection: Selection) -> Selection:
    """What the first row selects."""
    tensors = ("slots", "active", "ranges", "num_ranges", "head_ranges", "num_head_ranges",
               "indices", "num_indices")  # fmt: skip
    found = {name: getattr(selection, name) for name in tensors}
    return Selection(
        **{name: tensor[:1] for name, tensor in found.items() if tensor is not None},
        max_terms=selection.max_terms,
    )


def _random_order(
    lists: int, choices: int, number: int, generator: torch.Generator
) -> torch.Tensor:
    """(lists, number) distinct numbers below `choices`, ascending."""
    drawn = [torch.randperm(choices, generator=generator)[:number] for _ in range(lists)]
    return torch.stack(drawn).sort(dim=1).values


def variants(problem: Problem) -> dict[str, Call]:
    """What can run here; the metadata that a variant needs is made before it is timed."""
    query, keys, values, scale = problem.query, problem.keys, problem.values, problem.scale
    rows, heads, dim = query.shape
    length, budget = keys.shape[2], problem.entries.shape[2]
    where = problem.entries[..., None].expand(-1, -1, -1, dim)
    read = torch.zeros(rows, keys.shape[1], length, dtype=torch.bool, device=query.device)
    read.scatter_(2, problem.entries, True)
    mask = read.repeat_interleave(heads // keys.shape[1], dim=1)[:, :, None]

    def sdpa(k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        return functional.scaled_dot_product_attention(
            query[:, :, None], k, v, attn_mask=mask, scale=scale, enable_gqa=True
        )[:, :, 0]

    found: dict[str, Call] = {
        "ours": lambda: decode_attention(query, keys, values, problem.selection, scale).out
    }
    if budget < length:
        found["gather + sdpa"] = lambda: sdpa(keys.gather(2, where), values.gather(2, where), None)
        found["masked sdpa"] = lambda: sdpa(keys, values, mask)
    else:
        found["sdpa"] = lambda: sdpa(keys, values, None)
    if query.device.type == "cuda" and importlib.util.find_spec("flashinfer") is not None:
        found["flashinfer"] = flashinfer_call(problem)
    return found


def flashinfer_call(problem: Problem) -> Call:
    """FlashInfer's batch decode; each (row, KV head) is a request of pages of one entry."""
    import flashinfer

    query, keys = problem.query, problem.keys
    rows, heads, dim = query.shape
    kv_heads, length = keys.shape[1:3]
    group, budget = heads // kv_heads, problem.entries.shape[2]
    pairs = torch.arange(rows * kv_heads, device=query.device).view(rows, kv_heads, 1)
    pages = (pairs * length + problem.entries).flatten().int()
    starts = torch.arange(rows * kv_heads + 1, device=query.device).int() * budget
    workspace = torch.empty(128 * 2**20, dtype=torch.uint8, device=query.device)
    wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD")
    wrapper.plan(
        *(starts, pages, torch.ones(rows * kv_heads, device=query.device).int()),
        *(group, 1, dim, 1),
        q_data_type=query.dtype,
        kv_data_type=keys.dtype,
        sm_scale=problem.scale,
    )
    cache = tuple(tensor.view(-1, 1, 1, dim) for tensor in (keys, problem.values))
    flat = query.view(rows * kv_heads, group, dim)
    return lambda: wrapper.run(flat, cache).view(query.shape)


def measure(problem: Problem, kind: str, copy: float, repeats: int) -> list[Measurement]:
    """All variants on one problem.

    Raises:
        ValueError: a variant's error is beyond ERROR_LIMIT.
    """
    keys = problem.keys
    wanted = decode_attention_reference(
        problem.query[:1], keys, problem.values, first_row(problem.selection), problem.scale
    ).out
    found = []
    for name, call in variants(problem).items():
        error = float((call()[:1].double() - wanted).abs().max() / wanted.abs().max())
        if error > ERROR_LIMIT[keys.dtype]:
            raise ValueError(f"{name} on {kind} is off by {error:.1e}")
        time = time_call(call, keys.device, repeats)
        read = 2 * problem.entries.numel() * keys.shape[3] * keys.element_size()
        rate = read / time.median_us * 1e6
        found.append(
            Measurement(
                selection=kind,
                variant=name,
                length=keys.shape[2],
                budget=problem.entries.shape[2],
                time=time,
                bytes_per_s=rate,
                copy_share=rate / copy,
                error=error,
            )
        )
    return found


def table(measurements: Sequence[Measurement]) -> str:
    """Lines of Markdown; a ratio is a variant's median by ours on the same selection."""
    lines = [
        "| selection | length | budget | variant | median µs | quartiles µs | GB/s | of copy "
        "| time / ours | error |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    ours = measurements[0].time.median_us
    for item in measurements:
        if item.variant == "ours":
            ours = item.time.median_us
        time = item.time
        lines.append(
            f"| {item.selection} | {item.length} | {item.budget} | {item.variant} "
            f"| {time.median_us:.1f} | {time.low_us:.1f}–{time.high_us:.1f} "
            f"| {item.bytes_per_s / 1e9:.1f} | {item.copy_share:.0%} "
            f"| {time.median_us / ours:.2f} | {item.error:.0e} |"
        )
    return "\n".join(lines)


def missed_targets(measurements: Sequence[Measurement]) -> list[str]:
    """Where ours is below its share of the copy's bandwidth, or slower than gather + SDPA."""
    missed = []
    ours_us = 0.0
    for item in measurements:
        where = f"{item.selection}, length {item.length}, budget {item.budget}"
        if item.variant == "ours":
            ours_us = item.time.median_us
            if item.copy_share < TARGETS[item.selection]:
                target = TARGETS[item.selection]
                missed.append(f"{where}: {item.copy_share:.0%} of copy, target {target:.0%}")
        if item.variant == "gather + sdpa" and item.time.median_us < ours_us:
            missed.append(f"{where}: slower than gather + sdpa")
    return missed


def problems(lengths: Sequence[int], budgets: Sequence[int]) -> list[tuple[str, int, int]]:
    """Kind, length and budget of everything that is timed."""
    found = [("all entries", length, length) for length in lengths]
    for kind in ("six ranges", "head ranges", "indices"):
        found += [(kind, length, budget) for length in lengths for budget in budgets
                  if budget < length]  # fmt: skip
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096, 16384, 32768])
    parser.add_argument("--budgets", type=int, nargs="+", default=[128, 512, 2048])
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    options = parser.parse_args(arguments)
    on_device = torch.cuda.is_available()
    device, dtype, shape = torch.device("cuda"), torch.bfloat16, Shape()
    lengths, budgets, repeats = options.lengths, options.budgets, options.repeats
    if not on_device:
        print("CUDA: not run (no device). On the CPU, small, to check the variants:\n")
        device, dtype, shape = torch.device("cpu"), torch.float32, Shape(rows=2)
        lengths, budgets, repeats = [256], [128], 5
    with torch.inference_mode():
        copy = copy_bytes_per_s(device, COPY_BYTES[device.type], repeats)
        found = []
        for kind, length, budget in problems(lengths, budgets):
            problem = make_problem(shape, kind, length, budget, device, dtype)
            found += measure(problem, kind, copy, repeats)
    name = torch.cuda.get_device_name() if on_device else "CPU"
    print(f"{name}: copy {copy / 1e9:.1f} GB/s, {dtype}\n\n{table(found)}")
    missed = missed_targets(found) if on_device else []
    if on_device:
        print("\nTargets missed:", *(missed or ["none"]), sep="\n- ")
    if options.json:
        facts: dict[str, Any] = {
            "device": name,
            "torch": torch.__version__,
            "dtype": str(dtype),
            "shape": asdict(shape),
            "copy_bytes_per_s": copy,
            "measurements": [asdict(item) for item in found],
            "targets_missed": missed if on_device else "not run",
        }
        options.json.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
