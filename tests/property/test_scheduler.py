"""Scheduler as a state machine: slots are conserved, requests go in their order."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from murmur_cli.engine.request import Request
from murmur_cli.engine.scheduler import Queued, Scheduler

SLOTS = 3


class SchedulerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler(SLOTS)
        self.waiting: dict[int, tuple[bool, int, float, int]] = {}  # by arrival
        self.active: dict[int, Queued] = {}  # by slot
        self.gone = 0
        self.seen: list[int] = []
        self.arrivals = 0

    @rule(
        lengths=st.lists(st.sampled_from([1.0, 2.0, 2.5, 30.0]), max_size=4),
        recording=st.integers(0, 2),
        is_follow_up=st.booleans(),
    )
    def submit(self, lengths: list[float], recording: int, is_follow_up: bool) -> None:
        requests = []
        for audio_s in lengths:
            requests.append(Request(str(self.arrivals), None, (1,), audio_s, 1))
            place = (not is_follow_up, recording, -audio_s, self.arrivals)
            self.waiting[self.arrivals] = place
            self.arrivals += 1
        self.scheduler.submit(requests, recording=recording, is_follow_up=is_follow_up)

    @rule(wish=st.integers(0, SLOTS - 1))
    def admit(self, wish: int) -> None:
        wanted = sorted(self.waiting.values())[: SLOTS - len(self.active)]
        upcoming = [int(queued.request.key) for queued in self.scheduler.upcoming(len(wanted))]
        assert upcoming == [place[3] for place in wanted]
        # The last of those that go now would like one slot.
        wisher = wanted[-1][3] if wanted else None
        admitted = self.scheduler.admit(
            lambda request: wish if int(request.key) == wisher else None
        )
        numbers = [int(queued.request.key) for _, queued in admitted]
        assert sorted(numbers) == sorted(upcoming)
        assert [slot for slot, _ in admitted] == sorted(slot for slot, _ in admitted)
        others = [number for number in numbers if number != wisher]
        if wisher is not None and wish not in self.active:
            assert {int(q.request.key): slot for slot, q in admitted}[wisher] == wish
            assert others == upcoming[:-1]
        else:
            assert numbers == upcoming
        for slot, queued in admitted:
            assert slot not in self.active
            assert 0 <= slot < SLOTS
            self.active[slot] = queued
            del self.waiting[int(queued.request.key)]
            self.seen.append(int(queued.request.key))

    @rule(recording=st.integers(0, 2))
    def drop(self, recording: int) -> None:
        dropped = {int(queued.request.key) for queued in self.scheduler.drop(recording)}
        assert dropped == {n for n, place in self.waiting.items() if place[1] == recording}
        for number in dropped:
            del self.waiting[number]
        self.gone += len(dropped)

    @precondition(lambda self: self.active)
    @rule()
    def put_back(self) -> None:
        for queued in self.active.values():
            self.scheduler.put_back(queued)
            number = int(queued.request.key)
            self.waiting[number] = queued.order
            self.seen.remove(number)
        self.active = {}
        self.scheduler.resize(SLOTS)

    @precondition(lambda self: self.active)
    @rule(choice=st.integers(0, SLOTS - 1))
    def release(self, choice: int) -> None:
        slot = sorted(self.active)[choice % len(self.active)]
        self.scheduler.release(slot)
        del self.active[slot]

    @invariant()
    def slots_are_conserved(self) -> None:
        assert self.scheduler.free + len(self.active) == SLOTS
        assert self.scheduler.waiting == len(self.waiting)
        assert self.scheduler.can_admit == bool(len(self.active) < SLOTS and self.waiting)
        assert len(set(self.seen)) == len(self.seen)
        assert len(self.seen) + len(self.waiting) + self.gone == self.arrivals


TestScheduler = SchedulerMachine.TestCase
TestScheduler.settings = settings(deadline=None, max_examples=50, stateful_step_count=30)
