"""Options of ChunkKV; the index is `engine/indexes/chunkkv.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import RetrievalRule


@dataclass(frozen=True, slots=True)
class ChunkKv(RetrievalRule):
    """Whole chunks of speech are kept, by what the last prompt tokens attend to.

    Attributes:
        window: last prompt tokens that are observed; no more than stand after the speech.
        chunk: entries of a chunk (paper: 10).
        reuse: layers that share one choice, that of the first of them (published: 2).

    Raises:
        UsageError: a value outside its limits.
    """

    window: int = 64
    chunk: int = 10
    reuse: int = 2

    def most_read(self, entries: int) -> int:
        """Whole chunks, at least one."""
        return min(entries, max(self.chunk, self.budget.most(entries)))

    def __post_init__(self) -> None:
        require_at_least("window", self.window, 1)
        require_at_least("chunk", self.chunk, 1)
        require_at_least("reuse", self.reuse, 1)
