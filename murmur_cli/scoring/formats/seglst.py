"""SegLST: a JSON list of segments, as MeetEval and the CHiME challenges read it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats.fields import span_of
from murmur_cli.scoring.formats.json_text import parse_json
from murmur_cli.scoring.material import FileContent, Utterance


def read(text: str, stem: str) -> FileContent:
    """The utterances; an empty list is a session `stem` without words.

    Raises:
        RecordingError: not a list of segments, or one without words or with impossible times.
    """
    rows = parse_json(text)
    if not isinstance(rows, list):
        raise RecordingError("not SegLST, which is a JSON list of segments")
    sessions: dict[str, list[Utterance]] = defaultdict(list)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not isinstance(row.get("words"), str):
            raise RecordingError(f"segment {number} has no text under 'words'")
        session = sessions[_name(row.get("session_id"), number) or stem]
        if row["words"].strip():
            session.append(_utterance(row, number))
    return FileContent(
        utterances={name: tuple(found) for name, found in sessions.items()} or {stem: ()}
    )


def _utterance(row: dict[str, Any], number: int) -> Utterance:
    try:
        span = span_of(row.get("start_time"), row.get("end_time"))
    except RecordingError as error:
        raise RecordingError(f"segment {number} {error}") from None
    return Utterance(span, _name(row.get("speaker"), number), row["words"])


def _name(value: object, number: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise RecordingError(f"segment {number}: '{value}' is no name")
