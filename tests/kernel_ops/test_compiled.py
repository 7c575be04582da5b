"""How compiled attention is made and run: processors, LLVM and OpenMP that are not fit for it."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from murmur_kernels import decode_attention, decode_attention_path, step_ranges

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
