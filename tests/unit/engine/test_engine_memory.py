"""The engine's memory: what is planned, and how it goes on when an allocation fails."""

from __future__ import annotations

import pytest
import torch

from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.memory_plan import RequestLimits
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.errors import ModelError
from support.scripted_decoder import END, NONE, SPEECH, EverythingIsText, ScriptedDecoder, request

CUDA = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
CPU = RuntimeError("[enforce fail] . DefaultCPUAllocator: can't allocate memory: you tried to ...")
SCRIPTS = {"a": 9, "b": 3, "c": 14, "d": 1, "e": 6}


def run(adapter: ScriptedDecoder, slots: int = 4) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Tokens by request, and what was said."""
    said: list[str] = []
    engine = DecodeEngine(adapter, NONE, EverythingIsText(), slots, warn=said.append)
    engine.submit(request(key, [*range(1, n + 1), END], n) for key, n in SCRIPTS.items())
    done: dict[str, tuple[int, ...]] = {}
    try:
        while engine.busy:
            for finished in engine.step():
                assert finished.request.key not in done
                assert len(finished.logprobs) == len(finished.tokens) + 1
                assert finished.kv.steps == len(finished.tokens)
                done[finished.request.key] = finished.tokens
    finally:
        engine.close()
    return done, said


@pytest.mark.parametrize(
    "faults",
    [
        {("open", 1): CUDA},
        {("open", 1): CPU},
        {("load", 1): CUDA},
        {("load", 2): CPU},
        {("prefill", 1): CUDA},
        {("step", 4): CUDA},
        {("step", 1): MemoryError()},
    ],
    ids=str,
)
def test_memory_when_it_runs_out_then_half_the_slots_and_the_same_tokens(
    faults: dict[tuple[str, int], Exception],
) -> None:
    wanted, nothing = run(ScriptedDecoder())
    adapter = ScriptedDecoder(faults=faults)
    done, said = run(adapter)
    assert nothing == []
    assert done == wanted == {key: tuple(range(1, n + 1)) for key, n in SCRIPTS.items()}
    assert [slots for slots, _ in adapter.opened] == [4, 2]
    (line,) = said
    assert line.startswith("out of memory with 4 requests at a time, goes on with 2")


def test_memory_when_it_runs_out_twice_then_a_quarter_of_the_slots() -> None:
    adapter = ScriptedDecoder(faults={("step", 3): CUDA, ("load", 3): CUDA})
    done, said = run(adapter)
    assert done == run(ScriptedDecoder())[0]
    assert [slots for slots, _ in adapter.opened] == [4, 2, 1]
    assert len(said) == 2
    assert max(len(step) for step in adapter.steps[-10:]) == 1


def test_memory_when_it_runs_out_with_one_slot_then_model_error_names_the_cure() -> None:
    adapter = ScriptedDecoder(faults={("step", 2): CUDA}, free=12_345_678)
    with pytest.raises(ModelError) as caught:
        run(adapter, slots=1)
    for part in ("--batch-size", "--chunk", "--device", "12 MB are free"):
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not adapter.is_open


def test_error_when_it_is_not_of_memory_then_raised_as_it_is() -> None:
    with pytest.raises(RuntimeError, match="illegal instruction"):
        run(ScriptedDecoder(faults={("step", 2): RuntimeError("illegal instruction")}))


def test_rows_when_they_end_before_memory_runs_out_then_not_lost() -> None:
    adapter = ScriptedDecoder(faults={("step", 1): CUDA})
    engine = DecodeEngine(adapter, NONE, EverythingIsText(), 2)
    # The first ends with its prompt, before the step that fails.
    engine.submit([request("a", [END], 9), request("b", [1, 2, END])])
    assert [done.request.key for done in engine.step()] == ["a"]
    assert engine.slots == 1
    rest = [done for _ in range(9) for done in engine.step()]
    assert [done.tokens for done in rest] == [(1, 2)]


# --- the plan -------------------------------------------------------------------------------


def open_engine(
    adapter: ScriptedDecoder,
    slots: int = 4,
    policy: EvictionPolicy = NONE,
    limits: RequestLimits | None = None,
) -> tuple[DecodeEngine, list[str]]:
    said: list[str] = []
    engine = DecodeEngine(
        adapter, policy, EverythingIsText(), slots, limits=limits, ahead=3, warn=said.append
    )
    engine.open()
    return engine, said


@pytest.mark.parametrize(
    ("limits", "window", "own_entries"),
    [
        (None, None, 100),  # every position of the model
        (RequestLimits(4, 50), None, 54),
        (RequestLimits(4, 200), None, 100),
        (RequestLimits(4, 50), 20, 4 + 2 + 20),  # prompt, sinks and ring
        (RequestLimits(4, 10), 20, 14),
    ],
)
def test_plan_when_limits_and_policy_are_known_then_no_entry_more(
    limits: RequestLimits | None, window: int | None, own_entries: int
) -> None:
    rule = KeepAll() if window is None else OutputWindow(2, window)
    policy = EvictionPolicy("planned", KeepAll(), rule)
    engine, _ = open_engine(adapter := ScriptedDecoder(), 4, policy, limits)
    assert adapter.opened == [(4, own_entries)]
    # 8 bytes an entry, and 1,000 for each of three sources held ready.
    assert engine.planned_bytes == 4 * (SPEECH + own_entries) * 8 + 3 * 1000


def test_plan_when_memory_is_short_then_fewer_slots_and_said_so() -> None:
    slot_bytes = (SPEECH + 100) * 8
    engine, said = open_engine(adapter := ScriptedDecoder(free=int(2.5 * slot_bytes / 0.8)))
    assert adapter.opened == [(2, 100)]
    assert engine.slots == 2
    (line,) = said
    assert line.startswith("memory has room for 2 of 4 requests at a time")


def test_plan_when_one_slot_takes_nearly_all_then_it_is_tried() -> None:
    slot_bytes = (SPEECH + 100) * 8
    engine, _ = open_engine(ScriptedDecoder(free=slot_bytes))
    assert engine.slots == 1


def test_plan_when_not_even_one_slot_fits_then_model_error() -> None:
    with pytest.raises(ModelError, match="out of memory with a single request"):
        open_engine(ScriptedDecoder(free=100))


@pytest.mark.parametrize(("is_last", "slots"), [(True, 3), (False, 16)])
def test_plan_when_no_more_will_come_then_slots_for_what_is_there(
    is_last: bool, slots: int
) -> None:
    engine = DecodeEngine(adapter := ScriptedDecoder(), NONE, EverythingIsText(), 16)
    engine.submit(request(str(n), [1, 2, END]) for n in range(3))
    if is_last:
        engine.expect_no_more()
    while engine.busy:
        engine.step()
    assert [opened for opened, _ in adapter.opened] == [slots]
