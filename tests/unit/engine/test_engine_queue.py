"""The engine's queue across recordings: order, failures of one request, retries, time."""

from __future__ import annotations

import threading

import pytest

from murmur_cli.engine import shared_time
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.request import Finished
from support.scripted_decoder import END, NONE, EverythingIsText, ScriptedDecoder, request


def engine_of(adapter: ScriptedDecoder, slots: int = 2, **options: object) -> DecodeEngine:
    return DecodeEngine(adapter, NONE, EverythingIsText(), slots, **options)  # type: ignore[arg-type]


def finish(engine: DecodeEngine) -> list[Finished]:
    finished = []
    while engine.busy:
        finished += engine.step()
    return finished


def test_order_when_recordings_queue_up_then_earlier_ones_end_first() -> None:
    engine = engine_of(ScriptedDecoder(), slots=1)
    engine.submit([request("a short", [1, END], 1), request("a long", [2, END], 9)], recording=0)
    engine.submit([request("b longest", [3, END], 30)], recording=1)
    keys = [done.request.key for done in finish(engine)]
    assert keys == ["a long", "a short", "b longest"]


def test_order_when_a_follow_up_comes_then_it_goes_before_longer_first_requests() -> None:
    engine = engine_of(adapter := ScriptedDecoder(), slots=1)
    engine.submit([request("a", [1, END], 9), request("b", [2, END], 30)], recording=0)
    keys = []
    while engine.busy:
        for done in engine.step():
            keys.append(done.request.key)
            if done.request.key == "b":
                engine.submit([request("b rest", [3, END], 1)], is_follow_up=True)
    assert keys == ["b", "b rest", "a"]
    # Each took the slot in the step after the one before had left it.
    assert [len(step) for step in adapter.steps] == [1, 1, 1]


def test_row_when_recordings_share_the_batch_then_same_as_alone() -> None:
    scripts = {f"{r}{n}": [*range(1, 3 * n + r), END] for r in range(1, 4) for n in range(1, 5)}
    alone = {}
    for key, script in scripts.items():
        engine = engine_of(ScriptedDecoder(), slots=1)
        engine.submit([request(key, script)])
        alone[key] = finish(engine)[0]
    engine = engine_of(ScriptedDecoder(), slots=3)
    waiting = [
        [request(key, script, len(script)) for key, script in scripts.items() if key[0] == str(r)]
        for r in range(1, 4)
    ]
    together: dict[str, Finished] = {}
    number = 0
    while engine.busy or waiting:
        if waiting and engine.waiting < engine.slots:
            engine.submit(waiting.pop(0), recording=number)
            number += 1
        together |= {done.request.key: done for done in engine.step()}
    assert together.keys() == alone.keys()
    for key, done in together.items():
        assert (done.tokens, done.stop, done.kv) == (
            alone[key].tokens,
            alone[key].stop,
            alone[key].kv,
        )


@pytest.mark.parametrize("ahead", [0, 3])
def test_source_when_unreadable_then_that_request_alone_fails(ahead: int) -> None:
    adapter = ScriptedDecoder(unreadable=[[7, END], [8, END]])
    engine = engine_of(adapter, slots=1, ahead=ahead)
    engine.submit([request("good", [1, 2, END]), request("bad", [7, END])])
    engine.submit([request("bad too", [8, END]), request("well", [4, END])])
    done, failed = [], []
    while engine.busy:
        done += engine.step()
        failed += engine.take_failed()
    engine.close()
    assert [one.request.key for one in done] == ["good", "well"]
    assert [(one.request.key, str(one.error)) for one in failed] == [
        ("bad", "[7, 0] is unreadable"),
        ("bad too", "[8, 0] is unreadable"),
    ]


def test_drop_when_a_recording_is_given_up_then_its_rows_leave_and_others_stay() -> None:
    engine = engine_of(adapter := ScriptedDecoder(), slots=2)
    long = [*range(1, 30), END]
    engine.submit([request("a", long, 9), request("a waits", [3, END], 1)], recording=0)
    engine.submit([request("b", [*range(1, 9), END])], recording=1)
    engine.step()
    engine.drop(0)
    assert [done.request.key for done in finish(engine)] == ["b"]
    assert max(len(step) for step in adapter.steps[1:]) == 1


def test_retry_when_it_names_the_same_source_then_nothing_is_loaded_again() -> None:
    engine = engine_of(adapter := ScriptedDecoder(speech_of={5: 7}), slots=3)
    source = [5, END]
    engine.submit(
        [request("a", [*range(1, 9), END], 9), request("b", source), request("c", [6, END])]
    )
    order = []
    while engine.busy:
        for done in engine.step():
            order.append((done.request.key, done.kv.speech_entries_held))
            if done.request.key == "b":
                engine.submit([request("new", [8, END])], is_follow_up=True)
                engine.submit([request("b again", source)], is_follow_up=True)
    assert adapter.loads == [(0, 1, 2), (2,)]  # 'new' went to the slot that c left
    assert ("b again", 7) in order


def test_retry_when_another_step_lies_between_then_it_is_loaded() -> None:
    engine = engine_of(adapter := ScriptedDecoder(), slots=2)
    source = [5, END]
    engine.submit([request("a", [*range(1, 9), END], 9), request("b", source)])
    engine.step()
    engine.step()
    engine.submit([request("b again", source)], is_follow_up=True)
    finish(engine)
    assert adapter.loads == [(0, 1), (1,)]


def test_close_when_work_is_left_then_nothing_is_and_the_thread_has_ended() -> None:
    others = set(threading.enumerate())
    engine = engine_of(adapter := ScriptedDecoder(), slots=1, ahead=2)
    engine.submit([request(str(n), [1, 2, 3, END]) for n in range(5)])
    engine.step()
    (thread,) = {thread for thread in threading.enumerate() if thread.name == "read ahead"} - others
    engine.close()
    assert not engine.busy
    assert not adapter.is_open
    assert not thread.is_alive()


def test_time_when_rows_share_steps_then_their_shares_add_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = iter(range(10_000))
    monkeypatch.setattr(shared_time.time, "perf_counter", lambda: float(next(ticks)))
    time = shared_time.SharedTime()
    time.start()  # 0
    time.charge([1, 2])  # 1 s for two
    time.charge([])  # nobody: the next one bears it
    time.charge([2, 3, 4, 5])  # 1 s for four
    time.start()  # what passed since is nobody's
    time.charge([3])
    assert [time.take(n) for n in range(1, 6)] == [0.5, 0.75, 1.25, 0.25, 0.25]
    assert time.take(1) == 0.0
