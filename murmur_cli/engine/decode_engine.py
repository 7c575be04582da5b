"""Continuous batching: admit, step, select, sample, guard, finish."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch

from murmur_cli.engine.attention_focus import glances
from murmur_cli.engine.loop_guard import LoopGuard
from murmur_cli.engine.memory_plan import RequestLimits, is_out_of_memory
from murmur_cli.engine.model_adapter import DecoderAdapter, GreedySteps, TokenRule
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.policies.retrieval import retrieval_of
from murmur_cli.engine.read_ahead import SLOTS_PER_PREPARED, ReadAhead
from murmur_cli.engine.request import Failed, Finished, Loop, Request, StopReason
from murmur_cli.engine.row import Row, begin_row
from murmur_cli.engine.sampler import sample
from murmur_cli.engine.scheduler import Scheduler
from murmur_cli.engine.shared_time import SharedTime
from murmur_cli.engine.slot_memory import SlotMemory
from murmur_cli.engine.speech_peaks import StepPeaks

Result = TypeVar("Result")


class DecodeEngine:
    """Decodes requests in slots that are refilled as they become free.

    `step()` is the unit of work: free slots are filled, every active row decodes one token,
    finished rows leave in the same step. A row's tokens depend on nothing but its request.

    Memory: the arenas are allocated once, by the first step, within what is free then. If an
    allocation fails all the same, the engine goes on with half the slots; the requests that were
    in them start again. That changes no result: greedy decoding gives the same tokens, and a draw
    begins with the same seed.

    Args:
        adapter: the model's decoder.
        policy: what each step reads.
        rule: of decoding.
        slots: most rows at a time.
        guard: against repetitions.
        limits: longest prompt and output that will be asked for; None: what the model can take.
        ahead: sources prepared ahead of their turn by a thread, at most; None: by the slots.
        warn: told when memory changes the number of slots.
    """

    def __init__(
        self,
        adapter: DecoderAdapter,
        policy: EvictionPolicy,
        rule: TokenRule,
        slots: int,
        guard: LoopGuard | None = None,
        *,
        limits: RequestLimits | None = None,
        ahead: int | None = None,
        warn: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._adapter = adapter
        self._policy = policy
        self._rule = rule
        self._guard = guard or LoopGuard()
        self._scheduler = Scheduler(slots)
        limit = max(1, slots // SLOTS_PER_PREPARED) if ahead is None else ahead
        self._ahead = ReadAhead(adapter.prepare, limit)
        self._rows: dict[int, Row] = {}
        # Speech regions that outlive their row until the next admission: (source, entries).
        self._left: dict[int, tuple[Any, int]] = {}
        self._time = SharedTime()
        self._finished: list[Finished] = []
        self._failed: list[Failed] = []
        self._memory = SlotMemory(adapter, policy.output.bound, limits, retrieval_of(policy), warn)
        self._is_last = False

    # --- the queue --------------------------------------------------------------------------

    def submit(
        self, requests: Iterable[Request], *, recording: int = 0, is_follow_up: bool = False
    ) -> None:
        """Queue requests; may be called between steps. For their order see `scheduler`."""
        requests = list(requests)
        assert all(self._memory.takes(request) for request in requests), self._memory
        self._scheduler.submit(requests, recording=recording, is_follow_up=is_follow_up)
        self._look_ahead()

    def expect_no_more(self) -> None:
        """Only follow-ups will come: slots beyond the requests that wait are not allocated."""
        self._is_last = True

    def drop(self, recording: int) -> None:
        """Forget the requests of a recording, waiting or being decoded."""
        self._ahead.forget({queued.arrival for queued in self._scheduler.drop(recording)})
        for row in [row for row in self._rows.values() if row.queued.recording == recording]:
            self._leave(row)

    @property
    def busy(self) -> bool:
        """Whether a request waits or is being decoded."""
        return bool(self._rows) or self._scheduler.waiting > 0

    @property
    def slots(self) -> int:
        """Most rows at a time; fewer than asked for when memory is short."""
        return self._scheduler.slots

    @property
    def waiting(self) -> int:
        """Requests without a slot."""
        return self._scheduler.waiting

    def take_failed(self) -> list[Failed]:
        """The requests that failed alone since the last call."""
        failed, self._failed = self._failed, []
        return failed

    def close(self) -> None:
        """Let go the arenas, the thread, and all requests that are left."""
        self._ahead.close()
        self._rows.clear()
        self._left.clear()
        self._scheduler = Scheduler(self.slots)
        if self._memory.is_open:
            self._memory.close()

    # --- memory -----------------------------------------------------------------------------

    @property
    def planned_bytes(self) -> int:
        """Bytes of the arenas and of the sources held ready, at the present number of slots."""
        sources = self._ahead.limit * self._adapter.prepared_bytes
        return self._memory.planned_bytes(self.slots) + sources

    def open(self) -> None:
        """Plan and allocate the arenas; without this call the first step does it.

        Raises:
            ModelError: not even one slot fits into the memory that is free.
        """
        if self._memory.is_open:
            return
        wanted = self.slots
        if self._is_last:
            wanted = min(wanted, max(1, self._scheduler.waiting))
        self._scheduler.resize(self._memory.plan(wanted))
        self._memory.open(self.slots)

    def with_back_off(self, work: Callable[[], Result]) -> Result:
        """Run work of the adapter; while memory runs out, halve the slots and run it again.

        Raises:
            ModelError: memory runs out with one slot.
        """
        while True:
            try:
                return work()
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            # Only now is the failed call's own memory free again: the error held it.
            self._back_off()

    def _back_off(self) -> None:
        self._time.charge(self._active)
        for row in self._rows.values():
            self._scheduler.put_back(row.queued)
        self._rows.clear()
        self._left.clear()
        self._scheduler.resize(self._memory.halve(self.slots))

    # --- one step ---------------------------------------------------------------------------

    @torch.inference_mode()
    def step(self) -> list[Finished]:
        """Admit what fits, decode one token for each active row; the rows that finished.

        Raises:
            ModelError: there is not enough memory for a single row.
        """
        self._time.start()
        self.with_back_off(self._step)
        self._time.charge(self._active)
        finished, self._finished = self._finished, []
        return finished

    def _step(self) -> None:
        if not self.busy:
            return
        self.open()
        # Rows that end with their first token free their slot before any step is decoded.
        while self._scheduler.can_admit:
            self._admit()
        self._left.clear()
        rows = [self._rows[slot] for slot in sorted(self._rows)]
        if not rows:
            return
        greedy = self._adapter.greedy_steps
        if greedy is not None and self._needs_no_host(rows):
            self._run_ahead(rows, greedy)
            return
        step_rows = [row.step(self._policy) for row in rows]
        output = self._adapter.step(step_rows)
        self._time.charge(self._active)
        read = output.speech_read or (None,) * len(rows)
        for row, step_row, entries in zip(rows, step_rows, read, strict=True):
            row.count(step_row, self._adapter.entry_bytes, entries)
        self._follow(rows, output.attention, output.peaks)
        self._take(rows, output.logits)

    def _needs_no_host(self, rows: list[Row]) -> bool:
        """Whether what the next steps read and choose is known without seeing their tokens."""
        greedy = all(row.request.temperature == 0 for row in rows)
        by_position = self._policy.focus_need is None and retrieval_of(self._policy) is None
        return greedy and self._rule.is_fixed and by_position

    def _run_ahead(self, rows: list[Row], greedy: GreedySteps) -> None:
        """Several steps at once; what a row was given after its end is forgotten."""
        steps = min(greedy.most, *(row.left(self._adapter.max_entries) for row in rows))
        planned = [[row.step(self._policy, ahead) for row in rows] for ahead in range(steps)]
        chosen = greedy.run(planned)
        self._time.charge(self._active)
        for number, step_rows in enumerate(planned):
            for at, (row, step_row) in enumerate(zip(rows, step_rows, strict=True)):
                if self._rows.get(row.slot) is row:
                    row.count(step_row, self._adapter.entry_bytes)
                    row.look(chosen.peaks[number] if chosen.peaks else None, at)
                    self._accept(row, chosen.tokens[number][at], chosen.logprobs[number][at])

    def _admit(self) -> None:
        rows = [
            begin_row(slot, queued, self._guard.watch(queued.request.audio_s))
            for slot, queued in self._scheduler.admit(self._slot_that_holds)
        ]
        # They count as active before they are loaded, so that a failure loses none of them.
        self._rows |= {row.slot: row for row in rows}
        rows = self._load(rows)
        self._left.clear()
        self._look_ahead()
        # One prefill per shape of prompt: rows of one call share their positions.
        for shape in sorted({_shape(row.request) for row in rows}):
            members = [row for row in rows if _shape(row.request) == shape]
            output = self._adapter.prefill(
                [row.slot for row in members],
                [row.request.prompt for row in members],
                [row.request.suffix for row in members],
            )
            self._time.charge([row.queued.arrival for row in rows])
            for row, probability in zip(members, output.no_speech_probability, strict=True):
                row.no_speech_probability = probability
            self._follow(members, output.attention, output.peaks)
            self._take(members, output.logits)

    def _load(self, rows: list[Row]) -> list[Row]:
        """Fill the speech regions; a row whose source cannot be prepared fails alone."""
        loaded, fresh, sources = [], [], []
        for row in rows:
            source, entries = self._left.get(row.slot, (None, 0))
            if source is not None and source is row.request.source:
                row.speech_entries = entries
                loaded.append(row)
                continue
            try:
                sources.append(self._ahead.take(row.queued))
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                self._leave(row)
                self._failed.append(Failed(row.request, error))
            else:
                fresh.append(row)
        if fresh:
            held = self._adapter.load([row.slot for row in fresh], sources)
            for row, entries in zip(fresh, held, strict=True):
                row.speech_entries = entries
        return sorted(loaded + fresh, key=lambda row: row.slot)

    def _slot_that_holds(self, request: Request) -> int | None:
        """The free slot that this very source was decoded in just now: a retry needs no load."""
        return next(
            (
                slot
                for slot, (source, _) in self._left.items()
                if source is not None and source is request.source
            ),
            None,
        )

    def _look_ahead(self) -> None:
        # Requests that the free slots take at once would only be waited for.
        skipped = self._scheduler.free
        upcoming = self._scheduler.upcoming(skipped + self._ahead.limit)
        self._ahead.want(upcoming[skipped:])

    @property
    def _active(self) -> list[int]:
        return [row.queued.arrival for row in self._rows.values()]

    def _follow(
        self, rows: list[Row], attention: torch.Tensor | None, peaks: StepPeaks | None
    ) -> None:
        """Note where rows attend; bring their focus up to date if the policy asks for it."""
        for index, row in enumerate(rows):
            row.look(peaks, index)
        if attention is not None:
            for index, row in enumerate(rows):
                row.attention.append(attention[index].half())
        need = self._policy.focus_need
        if need is None:
            return
        assert attention is not None, f"policy {self._policy.name} needs the adapter's probes"
        seen = glances(attention, [row.speech_entries for row in rows], need)
        for row, glance in zip(rows, seen, strict=True):
            row.focus.update(glance)

    def _take(self, rows: list[Row], logits: torch.Tensor) -> None:
        """Choose the next token of each row; finish the rows that end."""
        self._rule.restrict(logits, [row.tokens for row in rows])
        sampled = sample(
            logits, [row.request.temperature for row in rows], [row.generator for row in rows]
        )
        for row, token, logprob in zip(rows, sampled.tokens, sampled.logprobs, strict=True):
            self._accept(row, token, logprob)

    def _accept(self, row: Row, token: int, logprob: float) -> None:
        """Take a token in; finish the row if it ends with it."""
        row.logprobs.append(logprob)
        if token in self._adapter.end_tokens:
            self._finish(row, StopReason.END, None)
            return
        row.tokens.append(token)
        loop = row.watch.see(token, self._rule.is_text)
        used = row.request.own_tokens + len(row.tokens)
        if loop is not None:
            self._finish(row, StopReason.LOOP, loop)
        elif row.watch.is_past_ceiling:
            self._finish(row, StopReason.CEILING, None)
        elif len(row.tokens) >= row.request.max_new_tokens or used >= self._adapter.max_entries:
            self._finish(row, StopReason.LENGTH, None)

    def _finish(self, row: Row, stop: StopReason, loop: Loop | None) -> None:
        self._left[row.slot] = (row.request.source, row.speech_entries)
        self._leave(row)
        self._finished.append(row.finish(stop, loop, self._time.take(row.queued.arrival)))

    def _leave(self, row: Row) -> None:
        del self._rows[row.slot]
        self._scheduler.release(row.slot)


def _shape(request: Request) -> tuple[int, int]:
    return len(request.prompt), len(request.suffix)
