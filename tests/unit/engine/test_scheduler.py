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


def test_admit_when_recordings_and_follow_ups_wait_then_by_class_recording_length() -> None:
    scheduler = Scheduler(6)
    scheduler.submit([request("b long", 30), request("b short", 2)], recording=1)
    scheduler.submit([request("a short", 1), request("a long", 9)], recording=0)
    scheduler.submit([request("b rest", 4)], recording=1, is_follow_up=True)
    scheduler.submit([request("a rest", 3)], recording=0, is_follow_up=True)
    order = ["a rest", "b rest", "a long", "a short", "b long", "b short"]
    assert [q.request.key for q in scheduler.upcoming(9)] == order
    assert [q.request.key for _, q in scheduler.admit()] == order


def test_admit_when_a_slot_is_preferred_then_given_if_it_is_free() -> None:
    scheduler = Scheduler(3)
    scheduler.submit([request("a", 3), request("b", 2), request("c", 1)])
    wishes = {"a": 2, "b": 2, "c": None}
    admitted = scheduler.admit(lambda asked: wishes[asked.key])
    assert [(slot, q.request.key) for slot, q in admitted] == [(0, "b"), (1, "c"), (2, "a")]


def test_put_back_when_slots_are_fewer_then_the_old_order_holds() -> None:
    scheduler = Scheduler(2)
    scheduler.submit([request("a", 3), request("b", 2), request("c", 1)])
    for _, queued in scheduler.admit():
        scheduler.put_back(queued)
    scheduler.resize(1)
    assert (scheduler.slots, scheduler.free, scheduler.waiting) == (1, 1, 3)
    assert [(slot, q.request.key) for slot, q in scheduler.admit()] == [(0, "a")]
