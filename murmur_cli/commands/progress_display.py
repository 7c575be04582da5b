"""Progress for people: bars on a terminal, plain lines off it; always on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text


class ProgressDisplay:
    """A ProgressHook for a console; a context manager that owns the live display.

    quiet: only warnings and errors. verbose: notes as well.
    """

    def __init__(self, console: Console, *, quiet: bool, verbose: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._verbose = verbose
        self._tasks: dict[str, TaskID] = {}
        self._live: Progress | None = None
        if console.is_terminal and not quiet:
            self._live = Progress(
                SpinnerColumn(),
                # File names may hold brackets, which are no markup.
                TextColumn("{task.fields[recording]}", markup=False),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console,
                transient=True,
                redirect_stdout=False,
            )

    def __enter__(self) -> ProgressDisplay:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def is_live(self) -> bool:
        """Whether a person watches: bars on a terminal."""
        return self._live is not None

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Take the bars away while standard output, on the same terminal, is written to."""
        if self._live is None:
            yield
            return
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def stage(self, recording: str, name: str, total: int | None) -> None:
        """Show a stage of a recording in place of the one before."""
        if self._live is not None:
            self.end(recording)
            self._tasks[recording] = self._live.add_task(name, total=total, recording=recording)

    def advance(self, recording: str, name: str, done: int) -> None:
        """Move the recording's bar."""
        if self._live is not None and recording in self._tasks:
            self._live.update(self._tasks[recording], completed=done)

    def end(self, recording: str) -> None:
        """Take the recording's bar away."""
        task = self._tasks.pop(recording, None)
        if self._live is not None and task is not None:
            self._live.remove_task(task)

    def note(self, message: str, *, level: str = "info") -> None:
        """Print one line: warnings always, plans unless --quiet, notes with --verbose."""
        if level == "warning":
            self.line(f"warning: {message}", style="yellow")
        elif (self._verbose or level == "plan") and not self._quiet:
            self.line(message, style="dim")

    def line(self, message: str, *, style: str = "") -> None:
        """Print one line whatever the settings."""
        self._console.print(Text(" ".join(message.split("\n")), style=style))
