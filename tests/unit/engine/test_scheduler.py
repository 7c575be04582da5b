from __future__ import annotations

from murmur_cli.engine.request import Request
from murmur_cli.engine.scheduler import Scheduler


def request(key: str, audio_s: float) -> Request:
    return Request(key, None, (1,), audio_s, 5)


def test_admit_when_more_wait_than_fit_then_longest_first_lowest_slot_first() -> None:
    scheduler = Scheduler(2)
    scheduler.submit([request("a", 3), request("b", 9), request("c", 5)])
    assert [(slot, q.request.key) for slot, q in scheduler.admit()] == [(0, "b"), (1, "c")]
    assert (scheduler.free, scheduler.waiting) == (0, 1)
    assert scheduler.admit() == []


def test_admit_when_lengths_are_equal_then_in_order_of_arrival() -> None:
    scheduler = Scheduler(3)
    scheduler.submit([request("a", 3), request("b", 3)])
    scheduler.submit([request("c", 3)])
    assert [q.request.key for _, q in scheduler.admit()] == ["a", "b", "c"]


def test_release_when_given_back_then_slot_is_used_again() -> None:
    scheduler = Scheduler(2)
    scheduler.submit([request("a", 3), request("b", 2), request("c", 1)])
    scheduler.admit()
    assert not scheduler.can_admit
    scheduler.release(1)
    assert scheduler.can_admit
    assert [(slot, q.request.key) for slot, q in scheduler.admit()] == [(1, "c")]
