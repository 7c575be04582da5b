"""How decode attention is launched: implementation, checks, grids, compilation, graphs."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from murmur_kernels import decode_attention, step_ranges
from murmur_kernels import dispatch as dispatch_module
from murmur_kernels.dispatch import implementation
from support.attention_case import Case, Head, Row, make_case

CPU = torch.device("cpu")
COMPILE = Path(__file__).parents[1] / "support/compile_kernels.py"
SHARED_BYTES = 99 * 1024
"""What a program may have on the smallest of the GPUs since Ampere."""


def int32(values: list[Any]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def full_case(device: torch.device = CPU, *, second_order: bool = False) -> Case:
    heads = [Head([(30, 33)], [5, 7, 2], summaries=2), Head([(1, 2)], [39], summaries=1)]
    rows = [Row(1, [(8, 20)], heads), Row(3, [(0, 1)], heads)]
    return make_case(rows, ratio=4, device=device, second_order=second_order)


# --- the choice of implementation ---------------------------------------------------------------


def test_device_when_cpu_or_cuda_then_torch_or_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch_module, "_triton_is_installed", lambda: True)
    assert implementation(CPU) == "torch"
    assert implementation(torch.device("cuda:1")) == "triton"


def test_device_when_nothing_runs_on_it_then_error_names_the_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch_module, "_triton_is_installed", lambda: False)
    with pytest.raises(RuntimeError, match=r"cuda:0 need the package triton.*install triton"):
        implementation(torch.device("cuda:0"))
    with pytest.raises(RuntimeError, match="no kernel runs on the device mps; put the arena on"):
        implementation(torch.device("mps"))


# --- selections ---------------------------------------------------------------------------------


def test_step_ranges_when_made_a_selection_then_the_same_and_kept() -> None:
    step = step_ranges([2, 0], [((0, 5), (9, 40)), ((3, 4),)], num_slots=4, capacity=40)
    selection = step.on(CPU)
    assert step.on(CPU) is selection
    assert selection.slots.tolist() == [2, 0]
    assert selection.active.tolist() == [True, True]
    assert selection.num_ranges.tolist() == [2, 1]
    assert selection.ranges[0, :2].tolist() == [[0, 5], [9, 40]]
    assert selection.ranges[1, 0].tolist() == [3, 4]
    assert selection.terms_bound(40) == 36


def test_terms_bound_when_not_given_then_a_slot_and_all_summaries() -> None:
    selection = full_case().selection
    assert selection.summaries is not None
    assert selection.terms_bound(40) == 40 + selection.summaries.keys.shape[2]
    assert replace(selection, max_terms=7).terms_bound(40) == 7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slots": torch.zeros(2)}, "want slots of int32"),
        ({"active": torch.ones(3, dtype=torch.bool)}, r"want active of shape \(2\)"),
        ({"num_ranges": int32([1])}, "want num_ranges of shape"),
        ({"ranges": torch.zeros(2, 7, 2).int()}, "room for 7 ranges, at most 6 are allowed"),
        ({"ranges": torch.zeros(2, 2, 4).int()}, "want ranges of shape"),
        ({"ranges": torch.zeros(2, 2, 4).int().mT}, "want ranges with contiguous last axes"),
        ({"head_ranges": torch.zeros(2, 2, 129, 2).int()}, "at most 128 are allowed"),
        ({"num_head_ranges": None}, "head_ranges and num_head_ranges go together"),
        ({"indices": None}, "indices and num_indices go together"),
        ({"indices": torch.zeros(2, 3, 4).int()}, "want indices of shape"),
        ({"indices": torch.zeros(2, 2, 8).int()[..., ::2]}, "want indices with contiguous last"),
        ({"num_indices": int32([[1, 1, 1]] * 2)}, "want num_indices of shape"),
        ({"max_terms": -1}, "want max_terms of at least 0, got -1"),
    ],
)
def test_selection_when_tensors_do_not_fit_then_value_error_names_them(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        replace(full_case().selection, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": torch.zeros(2, 2, 3, 64)}, "want mean values of shape"),
        ({"keys": torch.zeros(2, 2, 4, 64, dtype=torch.float64)}, "want mean keys of float32"),
        ({"log_counts": torch.zeros(2, 2, 3)}, "want log_counts of shape"),
        ({"counts": torch.zeros(2, 2)}, "want counts of int32"),
    ],
)
def test_summaries_when_tensors_do_not_fit_then_value_error_names_them(
    changes: dict[str, Any], message: str
) -> None:
    summaries = full_case().selection.summaries
    assert summaries is not None
    assert summaries.keys.shape == (2, 2, 4, 64)
    with pytest.raises(ValueError, match=message):
        replace(summaries, **changes)


def test_selection_when_of_another_arena_then_value_error_names_both() -> None:
    case = full_case()
    arguments = (case.query, case.keys, case.values)
    means = case.selection.summaries
    assert means is not None
    half = replace(means, keys=means.keys.half(), values=means.values.half())
    plain = make_case([Row(0, [(0, 3)])], kv_heads=4).selection
    for selection, message in (
        (replace(case.selection, summaries=half), "float16 do not fit an arena of size 64"),
        (plain, "that of 1 rows, the query has 2"),
    ):
        with pytest.raises(ValueError, match=message):
            decode_attention(*arguments, selection, 1.0)
    heads = [case.query[:, :, :], case.keys.repeat(1, 2, 1, 1), case.values.repeat(1, 2, 1, 1)]
    with pytest.raises(ValueError, match="that of 2 KV heads, the arena has 4"):
        decode_attention(*heads, case.selection, 1.0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([Row(4)], "row 0: slot 4 is outside 0 to 3"),
        ([Row(0), Row(1, [(3, 41)])], r"row 1: range \(3, 41\) is reversed or beyond 40"),
        ([Row(0, [], [Head(), Head([(9, 3)])])], r"row 0, KV head 1: range \(9, 3\) is reversed"),
        ([Row(0, [], [Head([], [40]), Head()])], "row 0, KV head 0: entry 40 is outside 0 to 39"),
        ([Row(0, [(0, 30)], [Head([(0, 11)])] * 2)], "has 41 terms, at most 40 are allowed"),
    ],
)
def test_contents_when_looked_at_then_value_error_names_what_is_wrong(
    rows: list[Row], message: str
) -> None:
    inactive = [replace(row, active=False) for row in rows]
    selection = make_case(inactive).selection
    selection.check_contents(num_slots=4, capacity=40)
    wrong = replace(selection, active=torch.ones_like(selection.active))
    with pytest.raises(ValueError, match=message):
        wrong.check_contents(num_slots=4, capacity=40)


def test_contents_when_counts_exceed_their_room_then_value_error_names_both() -> None:
    selection = full_case().selection
    selection.check_contents(num_slots=4, capacity=40)
    selection.num_ranges[1] = 7
    with pytest.raises(ValueError, match="row 1: num_ranges is 7, want 0 to 6"):
        selection.check_contents(num_slots=4, capacity=40)


# --- the launch ---------------------------------------------------------------------------------


def test_head_size_when_beyond_a_tile_then_value_error_names_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("triton")
    op_module = importlib.import_module("murmur_kernels.decode_attention")
    monkeypatch.setattr(op_module, "implementation", lambda device: "triton")
    case = make_case([Row(0, [(0, 3)])], dim=257)
    with pytest.raises(ValueError, match="head size 257 is beyond 256, the largest on CUDA"):
        decode_attention(case.query, case.keys, case.values, case.selection, 1.0)


def test_grid_when_selections_differ_then_shapes_alone_decide() -> None:
    module = pytest.importorskip("murmur_kernels.triton_kernels.decode_attention")
    # 16 rows of 4 KV heads fill 132 processors four times with 8 splits each.
    assert module._splits(CPU, 64, 4096) == 1
    cuda = type("Cuda", (), {"type": "cuda"})()
    properties = type("Properties", (), {"multi_processor_count": 132})()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
        assert module._splits(cuda, 64, 4096) == 8
        assert module._splits(cuda, 64, 200) == 2
        assert module._splits(cuda, 4, 1 << 20) == module.MAX_SPLITS
        assert module._splits(cuda, 4000, 4096) == 1


@pytest.mark.parametrize(
    "launches",
    [
        pytest.param(["all", "second order"], id="all kinds of terms"),
        pytest.param([], id="every launch", marks=pytest.mark.slow),
    ],
)
def test_kernels_when_compiled_for_a_gpu_then_fit_its_processors(
    launches: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("triton")
    capabilities = ["90"] if launches else ["80", "90"]
    command = [sys.executable, str(COMPILE), "--capability", *capabilities]
    run = subprocess.run(
        [*command, *(["--only", *launches] if launches else [])],
        env=os.environ | {"TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert {item["kernel"] for item in found} == {
        "attend_split",
        "combine_splits",
        "normalise_scores",
    }
    for item in found:
        assert item["shared_bytes"] <= SHARED_BYTES, item
        assert item["spilled_bytes"] <= 64, item


# --- on a GPU -----------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("second_order", [False, True])
def test_graph_when_replayed_then_follows_what_the_selection_holds(second_order: bool) -> None:
    case = full_case(torch.device("cuda"), second_order=second_order)
    keys, values = (torch.randn_like(cache) for cache in (case.keys, case.values))
    arguments = (case.query, keys, values, case.selection, case.scale)
    decode_attention(*arguments, log_sum_exp=True)  # compiles
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = decode_attention(*arguments, (1, 3), log_sum_exp=True)
    for step in range(3):
        case.selection.slots.copy_(int32([step, 3 - step]))
        case.selection.ranges[:, 0].copy_(int32([[step, 9], [0, 5 + step]]))
        case.selection.active.copy_(torch.tensor([True, step != 1]))
        graph.replay()
        now = Case(case.query, keys.clone(), values.clone(), case.selection, case.scale)
        torch.testing.assert_close(found.out.double(), now.wanted.out, rtol=0, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("second_order", [False, True])
def test_op_when_it_runs_then_nobody_waits_for_the_device(second_order: bool) -> None:
    case = full_case(torch.device("cuda"), second_order=second_order)
    arguments = (case.query, case.keys, case.values, case.selection, case.scale)
    decode_attention(*arguments, (1, 3), log_sum_exp=True)  # compiles
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        decode_attention(*arguments, (1, 3), log_sum_exp=True)
    finally:
        torch.cuda.set_sync_debug_mode("default")
