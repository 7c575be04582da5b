"""Sources prepared by a thread: in order, bounded, with their errors where they belong."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from murmur_cli.engine.read_ahead import ReadAhead
from murmur_cli.engine.request import Request
from murmur_cli.engine.scheduler import Queued

PATIENCE_S = 10.0


def queued(number: int) -> Queued:
    return Queued(Request(str(number), number, (1,), 1.0, 1), 0, False, number)


class Notebook:
    """A `prepare` that notes who calls it; it waits at `gate`, and fails for odd numbers."""

    def __init__(self) -> None:
        self.made: list[tuple[int, str]] = []
        self.threads: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Semaphore(0)

    def __call__(self, source: int) -> str:
        self.begun.release()
        assert self.gate.wait(PATIENCE_S)
        self.made.append((source, threading.current_thread().name))
        self.threads.append(torch.get_num_threads())
        if source % 2:
            raise ValueError(f"{source} is odd")
        return f"prepared {source}"

    def wait_for(self, count: int) -> None:
        for _ in range(count):
            assert self.begun.acquire(timeout=PATIENCE_S)


@contextmanager
def ahead_of(prepare: Notebook, limit: int) -> Iterator[ReadAhead]:
    ahead = ReadAhead(prepare, limit)
    try:
        yield ahead
    finally:
        prepare.gate.set()
        ahead.close()


def test_read_ahead_when_wanted_then_made_in_order_and_never_more_than_the_limit() -> None:
    prepare = Notebook()
    with ahead_of(prepare, 2) as ahead:
        requests = [queued(n) for n in (8, 2, 6, 4)]
        ahead.want(requests)
        prepare.wait_for(2)
        assert ahead.held == 2
        for number, request in enumerate(requests):
            # As the engine does: it takes the first, and names those that are next then.
            assert ahead.take(request) == f"prepared {request.request.source}"
            ahead.want(requests[number + 1 :])
            assert ahead.held <= 2
        assert [source for source, _ in prepare.made] == [8, 2, 6, 4]


def test_read_ahead_when_full_then_the_rest_is_not_touched() -> None:
    prepare = Notebook()
    with ahead_of(prepare, 1) as ahead:
        ahead.want([queued(2), queued(4)])
        prepare.wait_for(1)
        assert not prepare.begun.acquire(timeout=0.05)
        assert ahead.held == 1


def test_take_when_the_thread_is_at_it_then_it_is_waited_for_and_made_once() -> None:
    prepare = Notebook()
    prepare.gate.clear()
    with ahead_of(prepare, 1) as ahead:
        ahead.want([queued(2)])
        prepare.wait_for(1)
        threading.Timer(0.05, prepare.gate.set).start()
        assert ahead.take(queued(2)) == "prepared 2"
        assert prepare.made == [(2, "read ahead")]


def test_take_when_nothing_was_begun_then_made_by_who_asks() -> None:
    prepare = Notebook()
    with ahead_of(prepare, 0) as ahead:
        ahead.want([queued(2)])
        assert ahead.take(queued(2)) == "prepared 2"
        assert prepare.made == [(2, threading.current_thread().name)]


@pytest.mark.parametrize("limit", [0, 2])
def test_take_when_preparing_failed_then_raised_where_it_belongs(limit: int) -> None:
    prepare = Notebook()
    with ahead_of(prepare, limit) as ahead:
        ahead.want([queued(3), queued(4)])
        with pytest.raises(ValueError, match="3 is odd"):
            ahead.take(queued(3))
        assert ahead.take(queued(4)) == "prepared 4"


def test_forget_when_requests_are_dropped_then_their_room_is_free_again() -> None:
    prepare = Notebook()
    with ahead_of(prepare, 2) as ahead:
        ahead.want([queued(2), queued(4)])
        prepare.wait_for(2)
        ahead.take(queued(2))  # only now both are surely made
        ahead.want([queued(4), queued(6)])
        prepare.wait_for(1)
        ahead.forget({4, 6})
        ahead.want([queued(8)])
        prepare.wait_for(1)
        assert ahead.take(queued(8)) == "prepared 8"
        assert ahead.held == 0


def test_thread_when_it_runs_torch_then_on_one_core() -> None:
    prepare = Notebook()
    with ahead_of(prepare, 1) as ahead:
        ahead.want([queued(2)])
        prepare.wait_for(1)
        assert ahead.take(queued(2)) == "prepared 2"
        assert prepare.made == [(2, "read ahead")]
        assert prepare.threads == [1]


def test_close_when_the_thread_is_at_work_then_it_ends_and_holds_nothing() -> None:
    prepare = Notebook()
    prepare.gate.clear()
    ahead = ReadAhead(prepare, 2)
    ahead.want([queued(2), queued(4)])
    prepare.wait_for(1)
    thread = next(t for t in threading.enumerate() if t is ahead._thread)
    threading.Timer(0.05, prepare.gate.set).start()
    ahead.close()
    assert not thread.is_alive()
    assert ahead.held == 0
    assert len(prepare.made) == 1


def test_read_ahead_when_the_source_in_work_is_forgotten_then_its_place_is_free() -> None:
    prepare = Notebook()
    prepare.gate.clear()
    with ahead_of(prepare, 1) as ahead:
        ahead.want([queued(0)])
        prepare.wait_for(1)
        ahead.forget({0})
        prepare.gate.set()
        ahead.want([queued(2)])
        prepare.wait_for(1)
        assert ahead.take(queued(2)) == "prepared 2"
        assert ahead.held == 0
        assert {name for _, name in prepare.made} == {"read ahead"}
