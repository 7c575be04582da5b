"""The JSON document of `murmur transcribe`, described in docs/json.md."""

from __future__ import annotations

from typing import Any

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats.fields import name_in, span_of
from murmur_cli.scoring.formats.json_text import parse_json
from murmur_cli.scoring.material import FileContent, Utterance
from murmur_cli.types import SpeakerTurn, TimeSpan
from murmur_cli.writers.field import UNKNOWN_SPEAKER

_VERSION = "1."


def is_transcript(document: object) -> bool:
    """Whether a JSON document is one of ours, of any version."""
    return isinstance(document, dict) and {"schema_version", "segments"} <= document.keys()


def read(text: str, stem: str) -> FileContent:
    """Words and turns of the one session of the document; no turns if it has words and nobody
    told speakers apart (`--no-diarize`).

    Raises:
        RecordingError: not such a document, of a version that is not known, or damaged.
    """
    document = parse_json(text)
    if not is_transcript(document):
        raise RecordingError("not a JSON document of murmur transcribe")
    version = document["schema_version"]
    if not str(version).startswith(_VERSION):
        raise RecordingError(f"schema version {version} is not known; this program reads 1.x")
    try:
        session = name_in(document["session_id"]) or stem
        utterances = tuple(
            Utterance(_span(row), name_in(row["speaker"]), row["text"])
            for row in document["segments"]
            if row["text"].strip()
        )
        turns = tuple(
            SpeakerTurn(_span(row), name_in(row["speaker"]) or UNKNOWN_SPEAKER)
            for row in document["turns"]
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordingError(f"damaged document of murmur transcribe ({error})") from None
    knows_nobody = not turns and any(utterances) and all(one.speaker is None for one in utterances)
    return FileContent(
        utterances={session: utterances}, turns=None if knows_nobody else {session: turns}
    )


def _span(row: dict[str, Any]) -> TimeSpan:
    return span_of(row["start_s"], row["end_s"])
