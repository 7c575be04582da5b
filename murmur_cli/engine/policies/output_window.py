"""MURMUR's output eviction: attention sinks and a window of recent output.

Source: MURMUR (arXiv), output eviction, 4 sinks and 1,024 recent entries; the sinks follow
StreamingLLM (arXiv:2309.17453, section 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.regions import Range, RowView, merge_ranges


@dataclass(frozen=True, slots=True)
class OutputWindow:
    """Keeps the first `sinks` and the last `window` output entries.

    With n output entries, the current token's included, a step reads
    [0, min(sinks, n)) and [max(sinks, n - window), n).

    Raises:
        UsageError: a value below its limit.
    """

    sinks: int = 4
    window: int = 1024

    def __post_init__(self) -> None:
        require_at_least("sinks", self.sinks, 0)
        # The newest entry is the current token's own: it must always be read.
        require_at_least("window", self.window, 1)

    def select_output(self, row: RowView) -> tuple[Range, ...]:
        """Sinks and recent entries."""
        n = row.output_entries
        return merge_ranges((0, min(self.sinks, n)), (max(self.sinks, n - self.window), n))

    @property
    def bound(self) -> OutputBound | None:
        """The ring of sinks and window."""
        return OutputBound(self.sinks, self.window)
