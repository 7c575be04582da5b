"""The arenas of the slots: planned by free memory, allocated once, given up when that fails."""

from __future__ import annotations

from collections.abc import Callable

from murmur_cli.engine.memory_plan import RequestLimits, own_entries, slots_that_fit
from murmur_cli.engine.model_adapter import DecoderAdapter
from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.request import Request
from murmur_cli.errors import ModelError


class SlotMemory:
    """How many slots there can be, and whether they are allocated.

    `warn` is told, in one line, whenever memory lowers their number.
    """

    def __init__(
        self,
        adapter: DecoderAdapter,
        bound: OutputBound | None,
        limits: RequestLimits | None,
        retrieval: RetrievalRule | None,
        warn: Callable[[str], None],
    ) -> None:
        self._adapter = adapter
        self._bound = bound
        self._limits = limits
        self._retrieval = retrieval
        self._own_entries = own_entries(limits, bound, adapter.max_entries)
        self._warn = warn
        self.is_open = False

    def takes(self, request: Request) -> bool:
        """Whether the request is within the limits that the arenas are planned for."""
        if self._limits is None:
            return request.own_tokens < self._adapter.max_entries
        return (
            request.own_tokens <= self._limits.prompt_tokens
            and request.max_new_tokens <= self._limits.output_tokens
        )

    def planned_bytes(self, slots: int) -> int:
        """Bytes of the arenas of so many slots."""
        return self._adapter.planned_bytes(slots, self._own_entries, self._retrieval)

    def plan(self, wanted: int) -> int:
        """At most `wanted` slots that the free memory has room for.

        Raises:
            ModelError: there is no room for one.
        """
        slots = slots_that_fit(wanted, self.planned_bytes(1), self._adapter.free_bytes())
        if not slots:
            raise ModelError(self._too_little())
        if slots < wanted:
            self._warn(
                f"memory has room for {slots} of {wanted} requests at a time "
                f"({self.planned_bytes(1) / 1e6:.0f} MB each); --batch-size {slots} says the same"
            )
        return slots

    def open(self, slots: int) -> None:
        """Allocate the arenas; raises what the allocator raises."""
        self._adapter.open(slots, self._own_entries, self._bound, self._retrieval)
        self.is_open = True

    def close(self) -> None:
        """Let the arenas go, whole or half allocated."""
        self._adapter.close()
        self.is_open = False

    def halve(self, slots: int) -> int:
        """Let the arenas go after an allocation failed; the number of slots to go on with.

        Raises:
            ModelError: there was one slot only.
        """
        self.close()
        if slots == 1:
            raise ModelError(self._too_little())
        half = slots // 2
        self._warn(
            f"out of memory with {slots} requests at a time, goes on with {half}; "
            f"--batch-size {half} begins with that"
        )
        return half

    def _too_little(self) -> str:
        free = self._adapter.free_bytes()
        known = "" if free is None else f" and {free / 1e6:.0f} MB are free"
        return (
            f"out of memory with a single request: it takes {self.planned_bytes(1) / 1e6:.0f} MB"
            f"{known}; --batch-size cannot be less than 1, so give a shorter --chunk, another "
            "--device or a smaller --model"
        )
