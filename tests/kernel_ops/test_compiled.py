"""How compiled attention is made and run: processors, LLVM and OpenMP that are not fit for it."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from murmur_kernels import Attended, decode_attention, decode_attention_path, step_ranges
from support.attention_case import Case, Head, Row, make_case

binding = pytest.importorskip("llvmlite.binding")
machine_code = pytest.importorskip("murmur_kernels.compiled.machine_code")
team = pytest.importorskip("murmur_kernels.compiled.team")

CPU = torch.device("cpu")
FEATURES = dict.fromkeys(("avx2", "fma", "f16c"), True)


@pytest.fixture
def fresh() -> Iterator[None]:
    """No code and no OpenMP is known from an earlier test, none is left to a later one."""
    for cached in (machine_code.machine_code, team.parallel_region):
        cached.cache_clear()
    yield
    for cached in (machine_code.machine_code, team.parallel_region):
        cached.cache_clear()


def attend() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(3, 2, 64, generator=generator)
    keys, values = torch.randn(2, 3, 2, 50, 64, generator=generator).half()
    step = step_ranges([0, 1, 2], [((0, 40),)] * 3, num_slots=3, capacity=50)
    return decode_attention(query, keys, values, step, 0.125)[0]


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("missing", ["avx2", "fma", "f16c"])
def test_processor_when_it_lacks_a_feature_then_torch_runs(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = attend()
    machine_code.machine_code.cache_clear()
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: FEATURES | {missing: False})
    assert decode_attention_path(CPU, torch.float16, 64) == "torch"
    torch.testing.assert_close(attend(), wanted, rtol=0, atol=1e-6)


@pytest.mark.usefixtures("fresh")
def test_processor_when_of_another_kind_then_torch_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert decode_attention_path(CPU, torch.float16, 64) == "torch"


@pytest.mark.usefixtures("fresh")
def test_module_when_llvm_refuses_it_then_torch_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "attention_module", lambda *_, **__: "no module at all")
    assert decode_attention_path(CPU, torch.float16, 64) == "torch"
    assert attend().isfinite().all()


@pytest.mark.usefixtures("fresh")
def test_openmp_when_not_found_then_same_bits_on_the_calling_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = attend()
    team.parallel_region.cache_clear()
    monkeypatch.setattr(torch._C, "__file__", "/nowhere/torch.so")
    assert team.parallel_region() is None
    assert team.team_size(16) == 1
    assert torch.equal(attend(), wanted)


def test_team_when_fewer_tasks_than_threads_then_no_more_than_tasks() -> None:
    if team.parallel_region() is None:
        pytest.skip("torch's OpenMP has no GOMP_parallel here")
    assert team.team_size(1) == 1
    assert team.team_size(1000) == torch.get_num_threads()


def test_calls_when_from_two_python_threads_then_bits_are_the_same() -> None:
    wanted = attend()
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda _: attend(), range(40)))
    assert all(torch.equal(result, wanted) for result in results)


# --- selections ---------------------------------------------------------------------------------


@pytest.fixture
def threads() -> Iterator[None]:
    """Puts torch's number of threads back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


HEADS = [Head([(30, 33), (4, 21)], [5, 7, 2], summaries=11), Head([(3, 3)], [39], summaries=1)]


def all_of(case: Case) -> Attended:
    return decode_attention(
        *(case.query, case.keys, case.values, case.selection, case.scale, (1, 6)),
        log_sum_exp=True,
    )


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_selection_when_on_more_threads_then_bits_are_the_same(dtype: torch.dtype) -> None:
    rows = [Row(1, [(8, 20)], HEADS), Row(1, [(0, 5)]), Row(3, [(0, 4), (10, 29)], HEADS[::-1])]
    case = make_case(rows, ratio=4, dtype=dtype, max_terms=60)
    results = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        results.append(all_of(case))
    for found in results[1:]:
        for one, other in zip(found, results[0], strict=True):
            assert one is not None
            assert other is not None
            assert torch.equal(one, other)


@pytest.mark.parametrize("ratio", [1, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_summaries_when_float32_over_a_half_arena_then_not_rounded(
    dtype: torch.dtype, ratio: int
) -> None:
    rows = [Row(1, [(8, 20)], HEADS), Row(2, [], [Head(summaries=3)] * 2)]
    case = make_case(rows, ratio=ratio, dtype=dtype)
    means = case.selection.summaries
    assert means is not None
    generator = torch.Generator().manual_seed(7)
    fine = torch.randn(2, *means.keys.shape, generator=generator) * (means.keys == means.keys)
    wide = replace(means, keys=fine[0], values=fine[1])
    case = replace(case, selection=replace(case.selection, summaries=wide))
    found = decode_attention(
        case.query, case.keys, case.values, case.selection, case.scale, log_sum_exp=True
    )
    limits = case.largest_errors(weights=torch.float32, exact=True)
    assert found.log_sum_exp is not None
    assert ((found.out - case.wanted.out).abs() <= limits[0]).all()
    assert ((found.log_sum_exp - case.wanted.log_sum_exp).abs() <= limits[1]).all()


def test_selection_when_its_contents_change_then_the_next_call_reads_them() -> None:
    case = make_case([Row(1, [(8, 20)], HEADS)], ratio=4)
    all_of(case)
    case.selection.ranges[0, 0, 1] = 9
    case.selection.num_indices[0] = 0
    changed = replace(case, keys=case.keys.clone(), values=case.values.clone())
    found = all_of(case)
    torch.testing.assert_close(found.out.double(), changed.wanted.out, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("num_ranges", "num_ranges is 7, want 0 to 6"),
        ("num_head_ranges", "num_head_ranges is 1000000, want 0 to 3"),
        ("num_indices", "num_indices is 1000000, want 0 to 6"),
        ("counts", "summaries.counts is 1000000, want 0 to 13"),
    ],
)
def test_count_when_beyond_its_room_then_value_error_and_nothing_is_overrun(
    name: str, message: str
) -> None:
    case = make_case([Row(1, [(8, 20)], HEADS)], ratio=4)
    holder = case.selection.summaries if name == "counts" else case.selection
    getattr(holder, name)[0] = 7 if name == "num_ranges" else 1_000_000
    with pytest.raises(ValueError, match=message):
        all_of(case)


def test_terms_when_more_than_promised_then_value_error_names_both() -> None:
    case = make_case([Row(1, [(8, 20)], HEADS)], ratio=4)
    case.selection = replace(case.selection, max_terms=30)
    with pytest.raises(ValueError, match="row 0, KV head 0 has 46 terms, at most 30 are allowed"):
        all_of(case)
