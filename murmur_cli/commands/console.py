"""Consoles for people: data on standard output, everything else on standard error.

Text is printed as it is: file names may hold brackets and colons, so rich's markup and emoji
codes are off; style goes through `rich.text.Text`. Off a terminal there are no escape codes and
no line is broken. `NO_COLOR` is obeyed by rich.
"""

from __future__ import annotations

import os
import sys

from rich.console import Console

from murmur_cli.errors import MurmurError

UNBROKEN_COLUMNS = 100_000
"""Width off a terminal: a line is one line, however long a path in it is."""


def stdout_console() -> Console:
    """Console on standard output, for data that was asked for."""
    return _console(stderr=False)


def stderr_console() -> Console:
    """Console on standard error, for progress, notes and errors."""
    return _console(stderr=True)


def print_data(text: str) -> bool:
    """Print the same bytes that a file would hold; False if the reader (head, less) is gone.

    Raises:
        MurmurError: standard output takes no more for another reason, such as a full disk.
    """
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()
    except OSError as error:
        # What follows, and what Python flushes at its end, goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return False
        raise MurmurError(f"standard output cannot be written to ({error.strerror})") from error
    return True


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    is_terminal = stream is not None and stream.isatty()
    return Console(
        stderr=stderr,
        force_terminal=is_terminal,
        width=None if is_terminal else UNBROKEN_COLUMNS,
        markup=False,
        emoji=False,
        highlight=False,
    )
