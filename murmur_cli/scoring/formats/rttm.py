"""RTTM: `SPEAKER session channel onset duration <NA> <NA> speaker …` on each line.

Format: Rich Transcription 2009 evaluation plan, NIST. Other types of line say nothing of turns.
"""

from __future__ import annotations

from collections import defaultdict

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats.fields import data_lines, decoded, span_of_length
from murmur_cli.scoring.material import FileContent
from murmur_cli.types import SpeakerTurn

_FIELDS = 8
_OTHER_TYPES = frozenset(
    {"SPKR-INFO", "LEXEME", "NON-LEX", "NON-SPEECH", "NOSCORE", "NO_RT_METADATA", "SEGMENT"}
    | {"FILLER", "EDIT", "IP", "SU", "CB", "A/P"}
)


def read(text: str, stem: str) -> FileContent:
    """The turns; a file without turns is a session `stem` in which nobody speaks.

    A turn of no length is no turn and left out.

    Raises:
        RecordingError: a line is of no known type, too short, or has impossible times.
    """
    turns: dict[str, list[SpeakerTurn]] = defaultdict(list)
    for number, line in data_lines(text):
        fields = line.split()
        if fields[0] in _OTHER_TYPES:
            continue
        if fields[0] != "SPEAKER" or len(fields) < _FIELDS:
            raise RecordingError(
                f"line {number} is not RTTM: SPEAKER, session, channel, onset, duration, "
                "<NA>, <NA>, speaker"
            )
        try:
            span = span_of_length(fields[3], fields[4])
        except RecordingError as error:
            raise RecordingError(f"line {number} {error}") from None
        session = turns[decoded(fields[1])]
        if span.duration_s > 0:
            session.append(SpeakerTurn(span, decoded(fields[7])))
    return FileContent(turns={name: tuple(rows) for name, rows in turns.items()} or {stem: ()})
