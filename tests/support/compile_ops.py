"""Compiles the Triton kernels of the selecting ops for a GPU, on a machine without one.

Run as a script, without TRITON_INTERPRET; prints what each kernel needs, as `compile_kernels`:

    python tests/support/compile_ops.py [--capability 90 ...]
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

ROWS, HEADS, GROUP, DIM, ENTRIES, GROUPS = 2, 4, 7, 128, 2250, 141


def int32(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=torch.int32)


def launches() -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Op, launcher and arguments, at the flagship's shapes; every constant of a kernel in turn."""
    from murmur_kernels import Frontier, Tree

    active = torch.ones(ROWS, dtype=torch.bool)
    rows, by_head = int32(ROWS), int32(ROWS, HEADS)
    keys = torch.zeros(2, HEADS, 4096, DIM, dtype=torch.bfloat16)
    query = torch.zeros(ROWS, HEADS * GROUP, DIM, dtype=torch.bfloat16)
    new = torch.zeros(ROWS, HEADS, DIM, dtype=torch.bfloat16)
    for mask in (None, active):
        yield "kv_append", "kv_append_triton", (new, new, keys, keys, rows, rows, mask)
    low = torch.zeros(ROWS, HEADS, GROUPS, DIM)
    scores = torch.zeros(ROWS, HEADS, GROUPS)
    for kind, last in (("minmax", False), ("deviation", True)):
        statistics = (keys, rows, rows, rows, low, low, 16, kind, last, active)
        yield "page_stats", "page_stats_triton", statistics
    for formula, reduce in (
        ("minmax", "max"),
        ("deviation", "mean"),
        ("norm", "max"),
        ("second_order", "mean"),
    ):
        page = (query, low, low, rows, formula, reduce, 1.0, active, scores)
        yield "page_score", "page_score_triton", page
    for extra in (("cosine", "max", 1.0, scores, scores, 0.5, active, active),
                  ("dot", "mean", 1.0, None, None, 0.5, None, None)):  # fmt: skip
        yield "centroid_score", "centroid_score_triton", (query, low, by_head, *extra, scores)
    long, indices = torch.zeros(ROWS, HEADS, ENTRIES), int32(ROWS, HEADS, 512)
    protected = torch.zeros(ROWS, HEADS, ENTRIES, dtype=torch.bool)
    for extra in ((None, None, None), (protected, rows, active)):
        select = (long, by_head, by_head, indices, by_head, *extra)
        yield "topk_select", "topk_select_triton", select
    nodes, spans = int32(ROWS, HEADS, GROUPS), int32(ROWS, HEADS, 128, 2)
    groups = (nodes, nodes, nodes, by_head, by_head)
    for extra in ((None, None, None), (int32(ROWS, HEADS, ENTRIES), rows, active)):
        yield "fill_budget", "fill_budget_triton", (*groups, indices, by_head, *extra)
    for extra in ((None, None), (rows, active)):
        fill = (*groups, spans, by_head, int32(ROWS, HEADS, GROUPS, 2), by_head, *extra)
        yield "fill_ranges", "fill_ranges_triton", fill
    queries, lse = query.unsqueeze(1), torch.zeros(ROWS, 1, HEADS * GROUP)
    received = torch.zeros(ROWS, HEADS, 512)
    for reduce, *extra in (
        ("sum", None, rows, int32(ROWS, 1), active),
        ("mean", indices, None, None, None),
        ("max", indices, None, None, active),
    ):
        seen = (queries, keys, rows, lse, received, by_head, 0.1, 0.95, reduce, *extra)
        yield "score_accumulate", "score_accumulate_triton", seen
    for cosine in (True, False):
        split = (keys, rows, rows, int32(ROWS, HEADS, ENTRIES), nodes, nodes, 99, cosine, 8, 0)
        yield "two_means", "two_means_triton", split
    sums, center = torch.zeros(ROWS, HEADS, ENTRIES + 1, DIM), torch.zeros(ROWS, HEADS, DIM)
    for dtype, log_counts, mask in (
        (torch.bfloat16, None, None),
        (torch.float32, torch.zeros(ROWS, HEADS, 128), active),
    ):
        out = torch.zeros(ROWS, HEADS, 128, DIM, dtype=dtype)
        means = (sums, center, spans, by_head, out, log_counts, mask)
        yield "range_summaries", "range_means_triton", means
    table = int32(ROWS, HEADS, 2 * ENTRIES)
    tree = Tree(table, table, table, table, table, by_head)
    frontier = Frontier(nodes, nodes, nodes, scores, table, by_head)
    for mask in (None, active):
        update = (tree, frontier, int32(ROWS, HEADS, 6), by_head, 2, mask)
        yield "frontier_update", "frontier_update_triton", update


def main() -> None:
    """Parse the command line, compile, print."""
    from support.compile_kernels import compile_launch, recorded

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--capability", type=int, nargs="+", default=[80, 90])
    for op, launcher, arguments in launches():
        module = importlib.import_module(f"murmur_kernels.triton_kernels.{op}")
        launch: Callable[..., object] = getattr(module, launcher)
        with recorded(module) as kernels:
            launch(*arguments)
        for capability in parser.parse_args().capability:
            for kernel in kernels:
                for positional, named in kernel.launches:
                    found = compile_launch(kernel.kernel, positional, named, capability)
                    print(json.dumps({"op": op, "capability": capability} | found), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
