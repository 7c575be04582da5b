"""How a stage tells that it moved, without knowing who watches."""

from typing import Protocol


class ProgressHook(Protocol):
    """Called by the pipeline and its stages, from more than one thread.

    Several recordings may be on their way at a time, each in one stage.
    """

    def stage(self, recording: str, name: str, total: int | None) -> None:
        """A stage begins; `total` counts its units of work, None if unknown."""

    def advance(self, recording: str, name: str, done: int) -> None:
        """`done` units of the stage are complete."""

    def end(self, recording: str) -> None:
        """The recording is done, or has failed."""

    def note(self, message: str, *, level: str = "info") -> None:
        """One plain line; `level` is 'info' (shown with -v), 'plan' (what a run is about to take;
        hidden by -q) or 'warning' (always shown)."""


class SilentProgress:
    """The default hook: says nothing."""

    def stage(self, recording: str, name: str, total: int | None) -> None:
        """Ignore."""

    def advance(self, recording: str, name: str, done: int) -> None:
        """Ignore."""

    def end(self, recording: str) -> None:
        """Ignore."""

    def note(self, message: str, *, level: str = "info") -> None:
        """Ignore."""
