"""Wall time of the stages of one recording."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from murmur_cli.progress import ProgressHook
from murmur_cli.types import StageTiming


class StageClock:
    """Times stages and announces them; a stage that is entered twice adds up."""

    def __init__(self, recording: str, progress: ProgressHook) -> None:
        self._recording = recording
        self._progress = progress
        self._wall_s: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[None]:
        """Time the block as `name` and announce it."""
        self._progress.stage(self._recording, name, total)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, time.perf_counter() - start)

    def add(self, name: str, wall_s: float) -> None:
        """Add time that was measured elsewhere, such as a share of work for many recordings."""
        self._wall_s[name] = self._wall_s.get(name, 0.0) + wall_s

    @property
    def timings(self) -> tuple[StageTiming, ...]:
        """Stages in the order in which they were entered first."""
        return tuple(StageTiming(name, wall_s) for name, wall_s in self._wall_s.items())
