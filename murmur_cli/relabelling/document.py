"""A JSON document of ours, read back: as plain values to edit, and as a transcript to write."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmur_cli.audio.path_text import path_text
from murmur_cli.errors import UsageError
from murmur_cli.types import (
    AudioFacts,
    ChunkPlan,
    Flag,
    RunRecord,
    Segment,
    SpeakerTurn,
    Status,
    TimeSpan,
    Transcript,
    Word,
)

Document = dict[str, Any]

NEEDED_KEYS = frozenset({"schema_version", "session_id", "audio", "speakers", "segments", "turns"})


def read_document(path: Path) -> Document:
    """The document as plain values.

    Raises:
        UsageError: it cannot be read, is none of ours, or of a version that is not known.
    """
    name = path_text(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{name}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{name}: not a JSON document of murmur") from None
    if not isinstance(document, dict) or not document.keys() >= NEEDED_KEYS:
        raise UsageError(f"{name}: not a JSON document of murmur")
    version = document["schema_version"]
    if not str(version).startswith("1."):
        raise UsageError(f"{name}: schema version {version} is not known; this program reads 1.x")
    try:
        transcript_of(document)
    except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
        raise UsageError(f"{name}: damaged document of murmur ({error})") from None
    return document


def transcript_of(document: Document) -> Transcript:
    """As much of the transcript as the formats for subtitles, text and scoring tell."""
    language = document.get("language")
    return Transcript(
        session_id=str(document["session_id"]),
        status=Status(document.get("status", "ok")),
        facts=_facts(document["audio"]),
        speech_s=float(document["audio"]["speech_s"]),
        language=language,
        segments=tuple(map(_segment, document["segments"])),
        turns=tuple(SpeakerTurn(_span(row), _name(row["speaker"])) for row in document["turns"]),
        speakers=tuple(_name(row["speaker"]) for row in document["speakers"]),
        plan=ChunkPlan((), 0.0, ""),
        chunks=(),
        decisions=(),
        run=RunRecord("", (), {}, {}, ""),
    )


def speakers_in(document: Document) -> tuple[str, ...]:
    """The labels, in order of first speech."""
    return tuple(row["speaker"] for row in document["speakers"])


def words_of(document: Document, speaker: str) -> Sequence[dict[str, Any]]:
    """The words of one speaker, in order."""
    return [
        word
        for segment in document["segments"]
        for word in segment["words"]
        if word["speaker"] == speaker
    ]


def _facts(audio: dict[str, Any]) -> AudioFacts:
    return AudioFacts(
        path=Path(audio["path"]),
        sha256=audio["sha256"],
        decoder=audio["decoder"],
        container=audio["container"],
        codec=audio["codec"],
        sample_rate_hz=int(audio["sample_rate_hz"]),
        channels=int(audio["channels"]),
        mix=audio["mix"],
        declared_duration_s=audio["declared_duration_s"],
        duration_s=float(audio["duration_s"]),
        peak_dbfs=audio["peak_dbfs"],
        rms_dbfs=audio["rms_dbfs"],
    )


def _segment(row: dict[str, Any]) -> Segment:
    return Segment(
        span=_span(row),
        words=tuple(map(_word, row["words"])),
        chunk_index=int(row["chunk"]),
        language=row["language"],
        speaker=row["speaker"],
        flags=tuple(Flag(flag) for flag in row["flags"]),
    )


def _word(row: dict[str, Any]) -> Word:
    if not isinstance(row["text"], str):
        raise TypeError("a word that is no text")
    return Word(
        text=row["text"],
        span=_span(row),
        space_before=bool(row["space_before"]),
        probability=row["probability"],
        speaker=row["speaker"],
    )


def _span(row: dict[str, Any]) -> TimeSpan:
    return TimeSpan(float(row["start_s"]), float(row["end_s"]))


def _name(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a speaker without a name")
    return value
