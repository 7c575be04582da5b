"""Recordings prepared by a thread, a bounded number ahead."""

from __future__ import annotations

import gc
import threading
import weakref

from murmur_cli.prepared_ahead import PREPARED_AHEAD, PreparedAhead

PATIENCE_S = 10.0


class Made:
    """Something that can be seen to be gone."""

    def __init__(self, source: int) -> None:
        self.source = source


class Counting:
    """A `prepare` that notes how much of what it made is alive."""

    def __init__(self) -> None:
        self.made: list[weakref.ref[Made]] = []
        self.begun = threading.Semaphore(0)

    def __call__(self, source: int) -> Made:
        self.begun.release()
        if source == 13:
            raise ValueError("13 brings bad luck")
        made = Made(source)
        self.made.append(weakref.ref(made))
        return made

    @property
    def alive(self) -> int:
        gc.collect()
        return sum(reference() is not None for reference in self.made)


def test_prepared_when_nobody_takes_then_no_more_than_the_limit_is_alive() -> None:
    prepare = Counting()
    with PreparedAhead(range(9), prepare, "test") as ahead:
        for _ in range(PREPARED_AHEAD):
            assert prepare.begun.acquire(timeout=PATIENCE_S)
        assert not prepare.begun.acquire(timeout=0.1)
        assert prepare.alive == PREPARED_AHEAD
        seen = 0
        while ahead.more:
            taken = ahead.take(wait=True)
            assert taken is not None
            assert taken[0] == seen
            assert prepare.alive <= PREPARED_AHEAD + 1  # and the one that was taken
            del taken
            seen += 1
        assert seen == 9
    assert prepare.alive == 0


def test_prepared_when_one_fails_then_its_error_comes_in_its_turn() -> None:
    with PreparedAhead([1, 13, 2], Counting(), "test") as ahead:
        results = [ahead.take(wait=True) for _ in range(3)]
    assert not ahead.more
    kinds = [(source, type(made).__name__) for source, made in filter(None, results)]
    assert kinds == [(1, "Made"), (13, "ValueError"), (2, "Made")]


def test_take_when_nothing_is_ready_then_none_unless_waited_for() -> None:
    gate = threading.Event()

    def prepare(source: int) -> int:
        assert gate.wait(PATIENCE_S)
        return source

    with PreparedAhead([1], prepare, "test") as ahead:
        assert ahead.take(wait=False) is None
        assert ahead.more
        gate.set()
        assert ahead.take(wait=True) == (1, 1)


def test_leaving_when_sources_are_left_then_the_thread_ends_after_the_one_it_is_at() -> None:
    gate, begun, seen = threading.Event(), threading.Event(), []

    def prepare(source: int) -> int:
        seen.append((source, threading.current_thread()))
        begun.set()
        assert gate.wait(PATIENCE_S)
        return source

    with PreparedAhead([1, 2], prepare, "test"):
        assert begun.wait(PATIENCE_S)
    gate.set()  # only now: nobody waited for the thread
    ((source, thread),) = seen
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert source == 1
