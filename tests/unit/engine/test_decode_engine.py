"""The engine against a scripted decoder: what it computes, when rows leave, who gets the slot."""

from __future__ import annotations

import math
from typing import Any

import pytest

from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.loop_guard import LoopGuard
from murmur_cli.engine.policies.base import EvictionPolicy, OutputBound
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.engine.policies.speech_window import SpeechWindow
from murmur_cli.engine.request import Finished, Loop, Request, StopReason
from support.scripted_decoder import (
    END,
    NONE,
    SPEECH,
    VOCABULARY,
    EverythingIsText,
    ScriptedDecoder,
    request,
)


def run(
    requests: list[Request], slots: int = 2, policy: EvictionPolicy = NONE, **fields: Any
) -> tuple[dict[str, Finished], ScriptedDecoder]:
    adapter = ScriptedDecoder(**fields)
    engine = DecodeEngine(adapter, policy, EverythingIsText(), slots)
    engine.submit(requests)
    done: dict[str, Finished] = {}
    while engine.busy:
        for finished in engine.step():
            assert finished.request.key not in done
            done[finished.request.key] = finished
    assert engine.step() == []
    return done, adapter


def test_row_when_it_ends_then_tokens_without_end_and_its_log_probability() -> None:
    done, _ = run([request("a", [5, 6, 7, END])])
    finished = done["a"]
    assert finished.tokens == (5, 6, 7)
    assert finished.stop is StopReason.END
    assert finished.loop is None
    sure = 50.0 - math.log(math.exp(50.0) + VOCABULARY - 1)
    assert finished.logprobs == pytest.approx([sure] * 4, abs=1e-5)
    assert finished.no_speech_probability == 0.0


def test_row_when_first_token_ends_then_empty_output_and_no_step() -> None:
    done, adapter = run([request("a", [END])])
    assert done["a"].tokens == ()
    assert done["a"].attention is None
    assert done["a"].kv.steps == 0
    assert adapter.steps == []


def test_row_when_at_its_limit_then_length() -> None:
    done, adapter = run([request("a", [*range(1, 60)], limit=4)])
    assert done["a"].tokens == (1, 2, 3, 4)
    assert done["a"].stop is StopReason.LENGTH
    assert len(adapter.steps) == 3  # the first token comes from the prompt


def test_row_when_positions_are_used_up_then_length() -> None:
    done, adapter = run([request("a", [*range(1, 60)], prompt=3)], max_entries=10)
    assert len(done["a"].tokens) == 7
    assert done["a"].stop is StopReason.LENGTH
    last = adapter.steps[-1][0]
    assert last.prompt_entries + last.output_entries <= 10


def test_row_when_it_loops_then_stopped_with_the_loop() -> None:
    script = [*range(10, 17), *[3, 4] * 40]
    done, adapter = run([request("a", script, limit=80), request("b", [*range(1, 50), END])])
    finished = done["a"]
    assert finished.stop is StopReason.LOOP
    assert finished.loop is not None
    assert (finished.loop.start, finished.loop.period) == (7, 2)
    assert finished.tokens == tuple(script[: len(finished.tokens)])
    assert len(finished.tokens) <= 7 + 24 + 4
    # It was not computed any further, and its neighbour was.
    assert max(row.output_entries for step in adapter.steps for row in step if row.slot == 0) < 35
    assert done["b"].tokens == tuple(range(1, 50))


def test_guard_when_given_then_its_thresholds_hold() -> None:
    guard = LoopGuard(min_repeats=2, min_tokens=2)
    engine = DecodeEngine(ScriptedDecoder(), NONE, EverythingIsText(), 1, guard)
    engine.submit([request("a", [5, 5, 5, 5])])
    finished = [f for _ in range(3) for f in engine.step()]
    assert [f.loop for f in finished] == [Loop(0, 1, 2)]


def test_slot_when_freed_then_refilled_before_the_next_decode() -> None:
    requests = [
        request("long", [*range(1, 21), END], audio_s=9),
        request("b", [1, 2, END], audio_s=3),
        request("c", [3, 4, 5, END], audio_s=2),
        request("d", [6, END], audio_s=1),
    ]
    done, adapter = run(requests, slots=2)
    assert set(done) == {"long", "b", "c", "d"}
    # Steps of b, c and d lie in slot 1, back to back: 2 + 3 + 1 of them, then long is alone.
    assert [len(step) for step in adapter.steps] == [2] * 6 + [1] * 14
    assert [step[1].output_entries for step in adapter.steps[:6]] == [1, 2, 1, 2, 3, 1]


def test_slot_when_row_ends_with_its_first_token_then_refilled_in_the_same_step() -> None:
    requests = [request("a", [END], 9), request("b", [END], 8), request("c", [1, 2, END], 7)]
    engine = DecodeEngine(adapter := ScriptedDecoder(), NONE, EverythingIsText(), 1)
    engine.submit(requests)
    first = engine.step()
    assert [finished.request.key for finished in first] == ["a", "b"]
    assert len(adapter.steps) == 1
    assert [finished.tokens for finished in engine.step()] == [(1, 2)]
    assert not engine.busy


def test_step_when_rows_are_done_then_they_are_not_computed() -> None:
    lengths = {"a": 3, "b": 11, "c": 7, "d": 1, "e": 5}
    requests = [request(k, [*range(1, n + 1), END], n) for k, n in lengths.items()]
    done, adapter = run(requests, slots=3)
    # n tokens and the end: the prompt gives the first, n steps the rest; never one more.
    assert sum(len(step) for step in adapter.steps) == sum(lengths.values())
    assert {key: done[key].kv.steps for key in done} == lengths


def test_follow_up_when_submitted_between_steps_then_decoded() -> None:
    engine = DecodeEngine(ScriptedDecoder(), NONE, EverythingIsText(), 2)
    engine.submit([request("a", [1, 2, END]), request("b", [*range(1, 9), END])])
    order = []
    while engine.busy:
        for finished in engine.step():
            order.append(finished.request.key)
            if finished.request.key == "a":
                engine.submit([request("a2", [4, END])])
    assert order == ["a", "a2", "b"]


def test_prompts_when_of_different_length_then_one_prefill_for_each_length() -> None:
    requests = [
        request("a", [1, END], 3, prompt=2),
        request("b", [2, END], 2, prompt=5),
        request("c", [3, END], 1, prompt=2),
    ]
    done, adapter = run(requests, slots=3)
    assert sorted(adapter.prefills) == [(0, 2), (1,)]
    assert {row.slot: row.prompt_entries for row in adapter.steps[0]} == {0: 2, 1: 5, 2: 2}
    assert {key: done[key].no_speech_probability for key in done} == {"a": 0.0, "b": 0.1, "c": 0.2}


def test_attention_when_recorded_then_row_i_is_of_the_step_that_gave_token_i() -> None:
    done, _ = run([request("a", [5, 6, 7, END])])
    attention = done["a"].attention
    assert attention is not None
    assert attention.shape == (3, 1, SPEECH)
    # 0.5 from the prompt, then 1/100 and 2/100 from the steps; the end token's is left out.
    assert attention[:, 0, 0].tolist() == pytest.approx([0.5, 0.01, 0.02], abs=1e-4)


def test_usage_when_nothing_is_evicted_then_read_equals_held() -> None:
    done, _ = run([request("a", [5, 6, 7, END], prompt=4)])
    kv = done["a"].kv
    assert kv.steps == 3
    assert kv.speech_entries_read == kv.speech_entries_held == 3 * SPEECH
    # prompt 4 and 1, 2, 3 output entries
    assert kv.output_entries_read == kv.output_entries_held == 5 + 6 + 7
    assert kv.bytes_read == 8 * (30 + 18)


def test_usage_when_policy_evicts_then_counted_by_the_definition() -> None:
    policy = EvictionPolicy("both", SpeechWindow(1, 3, 2.0, sinks=1), OutputWindow(1, 2))
    done, adapter = run([request("a", [5, 6, 7, 8, 9, END], prompt=4)], policy=policy)
    assert adapter.bound == OutputBound(1, 2)
    kv = done["a"].kv
    # Speech at steps 1..5: 10, then 2, 4, 6 evicted, at most 10-1-3.
    assert kv.speech_entries_read == 10 + 8 + 6 + 4 + 4
    assert kv.speech_entries_held == 50
    # Output at steps 1..5: 1, 2, 3, 3, 3 beside the prompt.
    assert kv.output_entries_read == 5 * 4 + 1 + 2 + 3 + 3 + 3
    assert kv.output_entries_held == 5 * 4 + 15
    assert kv.bytes_read == 8 * (kv.speech_entries_read + kv.output_entries_read)


def test_speech_when_rows_hold_different_amounts_then_each_is_evicted_by_its_own() -> None:
    policy = EvictionPolicy("speech", SpeechWindow(1, 4, 2.0), KeepAll())
    requests = [
        request("a", [1, 9, 9, 8, 8, END]),
        request("b", [2, 9, 9, 8, 8, END]),
        request("c", [3, 9, 9, 8, 8, END]),
    ]
    done, _ = run(requests, slots=2, policy=policy, speech_of={1: 3, 2: 7, 3: 20})
    # Steps 1..5 evict 0, 2, 4, 6, 8, and always leave 4.
    assert done["a"].kv.speech_entries_read == 5 * 3
    assert done["b"].kv.speech_entries_read == 7 + 5 + 4 + 4 + 4
    assert done["c"].kv.speech_entries_read == 20 + 18 + 16 + 14 + 12
