"""Fields that the formats of scoring share: ids, names and times."""

from __future__ import annotations

import math
from collections.abc import Iterator
from urllib.parse import unquote

from murmur_cli.errors import RecordingError
from murmur_cli.types import TimeSpan

LATEST_S = 1e10
"""Some 300 years: also seconds since 1970 are below it, milliseconds are not."""


def decoded(name: str) -> str:
    """An id or a name as it was before `writers.field.escape_field`: text, never a number."""
    return unquote(name, errors="surrogateescape")


def name_in(value: object) -> str | None:
    """A name of a JSON document; None if nobody is named.

    Raises:
        RecordingError: not a text.
    """
    if value is None or isinstance(value, str):
        return value
    raise RecordingError(f"'{value}' is no name")


def data_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers from 1; blank ones and comments (';') left out."""
    # Not splitlines: it also breaks at characters that may stand in a text.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith(";"):
            yield number, line


def span_of(start: object, end: object) -> TimeSpan:
    """A span from two times in seconds.

    Raises:
        RecordingError: no finite numbers, a start below 0, an end before the start or after
            `LATEST_S`.
    """
    return _checked(seconds(start), seconds(end))


def span_of_length(start: object, length: object) -> TimeSpan:
    """A span from its start and length in seconds.

    Raises:
        RecordingError: no finite numbers, one of them below 0, or an end after `LATEST_S`.
    """
    start_s = seconds(start)
    return _checked(start_s, start_s + seconds(length))


def seconds(value: object) -> float:
    """A time in seconds.

    Raises:
        RecordingError: not a finite number.
    """
    try:
        time_s = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        time_s = math.nan
    if not math.isfinite(time_s):
        raise RecordingError(f"time '{value}' is no number of seconds")
    return time_s


def _checked(start_s: float, end_s: float) -> TimeSpan:
    if start_s < 0:
        raise RecordingError(f"starts at {start_s:g} s, before the recording does")
    if end_s > LATEST_S:
        raise RecordingError(f"ends at {end_s:g} s, after {LATEST_S:g} s; are these seconds?")
    if end_s < start_s:
        raise RecordingError(f"ends at {end_s:g} s, before its start at {start_s:g} s")
    return TimeSpan(start_s, end_s)
