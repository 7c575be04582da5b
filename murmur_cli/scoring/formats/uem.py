"""UEM: the scored stretches, `session channel start end` on each line. Format: NIST."""

from __future__ import annotations

from collections import defaultdict

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats.fields import data_lines, decoded, span_of
from murmur_cli.types import TimeSpan

_FIELDS = 4


def read(text: str) -> dict[str, tuple[TimeSpan, ...]]:
    """The stretches of each session, in order of time.

    Raises:
        RecordingError: a line has not four fields, or impossible times.
    """
    spans: dict[str, list[TimeSpan]] = defaultdict(list)
    for number, line in data_lines(text):
        fields = line.split()
        if len(fields) != _FIELDS:
            raise RecordingError(
                f"line {number} has {len(fields)} fields; UEM has session, channel, start, end"
            )
        try:
            spans[decoded(fields[0])].append(span_of(fields[2], fields[3]))
        except RecordingError as error:
            raise RecordingError(f"line {number} {error}") from None
    return {name: tuple(sorted(rows)) for name, rows in spans.items()}
