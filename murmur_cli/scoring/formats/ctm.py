"""CTM: `session channel start duration word [confidence]` on each line.

Format: OpenASR20 evaluation plan, NIST. It names no speakers; where a session has several
channels, each counts as one.
"""

from __future__ import annotations

from collections import defaultdict

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats.fields import data_lines, decoded, span_of_length
from murmur_cli.scoring.material import FileContent, Utterance
from murmur_cli.types import TimeSpan

_FIELDS = 5
_ALTERNATIVES = "<alt"


def read(text: str, stem: str) -> FileContent:
    """Every word as an utterance; a file without lines is a session `stem` without words.

    Raises:
        RecordingError: a line has too few fields, impossible times, or starts alternatives.
    """
    words: dict[str, list[tuple[TimeSpan, str, str]]] = defaultdict(list)
    for number, line in data_lines(text):
        fields = line.split()
        if len(fields) >= _FIELDS and fields[4].lower().startswith(_ALTERNATIVES):
            raise RecordingError(f"line {number}: alternatives are not supported; keep one of each")
        if len(fields) < _FIELDS:
            raise RecordingError(
                f"line {number} has {len(fields)} fields; CTM has "
                "session, channel, start, duration and word"
            )
        try:
            span = span_of_length(fields[2], fields[3])
        except RecordingError as error:
            raise RecordingError(f"line {number} {error}") from None
        words[decoded(fields[0])].append((span, fields[1], decoded(fields[4])))
    sessions = {name: _utterances(rows) for name, rows in words.items()}
    return FileContent(utterances=sessions or {stem: ()}, segmented=False)


def _utterances(rows: list[tuple[TimeSpan, str, str]]) -> tuple[Utterance, ...]:
    several = len({channel for _, channel, _ in rows}) > 1
    return tuple(
        Utterance(span, f"channel {channel}" if several else None, word)
        for span, channel, word in rows
    )
