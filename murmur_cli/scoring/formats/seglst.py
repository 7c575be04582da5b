"""SegLST: a JSON list of segments, as MeetEval and the CHiME challenges read it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats.fields import name_in, span_of
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
        try:
            session = sessions[name_in(row.get("session_id")) or stem]
            if row["words"].strip():
                session.append(_utterance(row))
        except RecordingError as error:
            raise RecordingError(f"segment {number}: {error}") from None
    return FileContent(
        utterances={name: tuple(found) for name, found in sessions.items()} or {stem: ()}
    )


def _utterance(row: dict[str, Any]) -> Utterance:
    span = span_of(row.get("start_time"), row.get("end_time"))
    return Utterance(span, name_in(row.get("speaker")), row["words"])
