"""STM: `session channel speaker start end [<label>] text` on each line.

Format: OpenASR20 evaluation plan, NIST. A line without text makes its session known: it has no
words. The text 'ignore_time_segment_in_scoring' takes its stretch out of the scored region.
"""

from __future__ import annotations

import re
from collections import defaultdict

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats.fields import data_lines, decoded, span_of
from murmur_cli.scoring.material import FileContent, Utterance
from murmur_cli.types import TimeSpan

_LABEL = re.compile(r"^<[^>]*>\s*")
_IGNORED = "ignore_time_segment_in_scoring"
_FIELDS = 5


def read(text: str, stem: str) -> FileContent:
    """The utterances; a file without lines is a session `stem` without words.

    Raises:
        RecordingError: a line has too few fields or impossible times.
    """
    utterances: dict[str, list[Utterance]] = defaultdict(list)
    ignored: dict[str, list[TimeSpan]] = defaultdict(list)
    for number, line in data_lines(text):
        fields = line.split(maxsplit=_FIELDS)
        if len(fields) < _FIELDS:
            raise RecordingError(
                f"line {number} has {len(fields)} fields; STM has "
                "session, channel, speaker, start, end and text"
            )
        try:
            span = span_of(fields[3], fields[4])
        except RecordingError as error:
            raise RecordingError(f"line {number} {error}") from None
        session = utterances[decoded(fields[0])]
        words = _LABEL.sub("", fields[_FIELDS].strip(), count=1) if len(fields) > _FIELDS else ""
        if words.lower() == _IGNORED:
            ignored[decoded(fields[0])].append(span)
        elif words:
            session.append(Utterance(span, decoded(fields[2]), words))
    return FileContent(
        utterances={name: tuple(rows) for name, rows in utterances.items()} or {stem: ()},
        ignored={name: tuple(spans) for name, spans in ignored.items()},
    )
