"""Scheduler as a state machine: slots are conserved, the longest request goes first."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from murmur_cli.engine.request import Request
from murmur_cli.engine.scheduler import Scheduler

SLOTS = 3


class SchedulerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.scheduler = Scheduler(SLOTS)
        self.waiting: list[tuple[float, int]] = []  # (audio_s, arrival)
        self.active: dict[int, int] = {}  # slot -> arrival
        self.seen: list[int] = []
        self.arrivals = 0

    @rule(lengths=st.lists(st.sampled_from([1.0, 2.0, 2.5, 30.0]), max_size=4))
    def submit(self, lengths: list[float]) -> None:
        requests = []
        for audio_s in lengths:
            requests.append(Request(str(self.arrivals), None, (1,), audio_s, 1))
            self.waiting.append((audio_s, self.arrivals))
            self.arrivals += 1
        self.scheduler.submit(requests)

    @rule()
    def admit(self) -> None:
        wanted = sorted(self.waiting, key=lambda item: (-item[0], item[1]))
        wanted = wanted[: SLOTS - len(self.active)]
        admitted = self.scheduler.admit()
        assert [int(queued.request.key) for _, queued in admitted] == [number for _, number in wanted]
        for (slot, _), item in zip(admitted, wanted, strict=True):
            assert slot not in self.active
            assert 0 <= slot < SLOTS
            self.active[slot] = item[1]
            self.waiting.remove(item)
            self.seen.append(item[1])

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
        assert len(self.seen) + len(self.waiting) == self.arrivals


TestScheduler = SchedulerMachine.TestCase
TestScheduler.settings = settings(deadline=None, max_examples=50, stateful_step_count=30)
