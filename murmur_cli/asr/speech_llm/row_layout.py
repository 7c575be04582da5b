"""Where the regions of a row lie in its slot, and what a layer reads of them.

    prompt | speech | suffix | output

An entry's position, which its key is rotated by, is its place in this order. The output may lie
in a ring; then its entries' places differ from their positions, which nobody needs but the
layers that see a sliding window only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from murmur_cli.engine.arena import OutputRing
from murmur_cli.engine.model_adapter import StepRow
from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.engine.regions import Range, Selection, merge_ranges


@dataclass(frozen=True, slots=True)
class RowLayout:
    """One row at one decode step."""

    row: StepRow
    bound: OutputBound | None

    @property
    def speech_start(self) -> int:
        """First entry of the speech."""
        return self.row.prompt_entries

    @property
    def output_start(self) -> int:
        """First entry of the output."""
        return self.row.prompt_entries + self.row.speech_entries + self.row.suffix_entries

    @property
    def position(self) -> int:
        """Of the newest output token."""
        return self.output_start + self.row.output_entries - 1

    @property
    def place(self) -> int:
        """Slot entry that the newest output token is written to."""
        return self._ring.place(self.row.output_entries - 1)

    @property
    def without_speech(self) -> RowLayout:
        """The row in a slot that does not hold its speech; for entries of the slot alone."""
        selection = Selection((), self.row.selection.output)
        return RowLayout(replace(self.row, speech_entries=0, selection=selection), self.bound)

    @property
    def around_speech(self) -> tuple[Range, ...]:
        """What `without_speech` reads, where it lies in a slot that holds the speech."""
        selection = Selection((), self.row.selection.output)
        return RowLayout(replace(self.row, selection=selection), self.bound).reads(None)

    def reads(self, window: int | None) -> tuple[Range, ...]:
        """Slot entries that a layer reads, ascending and disjoint.

        window: a layer that slides sees the last `window` positions only, its own included.
        Where an index chooses the speech, a layer that slides reads all that it sees; for the
        others the index adds what it finds.
        """
        first = 0 if window is None else max(0, self.position - window + 1)
        return merge_ranges(*self._spans(first, slides=window is not None))

    def _speech(self, *, slides: bool) -> tuple[Range, ...]:
        chosen = self.row.selection.speech
        if chosen is None:
            return ((0, self.row.speech_entries),) if slides else ()
        return chosen

    def _spans(self, first: int, *, slides: bool) -> Iterator[Range]:
        """Selected spans with positions of at least `first`."""
        yield (first, self.speech_start)
        for start, end in self._speech(slides=slides):
            yield (max(first, self.speech_start + start), self.speech_start + end)
        yield (
            max(first, self.speech_start + self.row.speech_entries),
            self.output_start,
        )
        for start, end in self.row.selection.output:
            start = max(start, first - self.output_start)
            if start < end:
                yield from self._ring.place_range(start, end)

    @property
    def _ring(self) -> OutputRing:
        if self.bound is None:
            return OutputRing(self.output_start, 0, None)
        return OutputRing(self.output_start, self.bound.sinks, self.bound.window)
