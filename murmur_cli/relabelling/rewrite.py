"""The files of a result, written anew after its speakers were changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from murmur_cli.errors import UsageError
from murmur_cli.relabelling.document import Document, transcript_of
from murmur_cli.writers import json_layout
from murmur_cli.writers.output import write_together
from murmur_cli.writers.registry import WRITERS

SPEAKERLESS_FORMATS = frozenset({"ctm"})
"""Formats that hold no speakers: no change of them changes the file."""


def rewrite(path: Path, document: Document, formats: Sequence[str]) -> tuple[Path, ...]:
    """Write the document to its path, and beside it the other formats that are there already or
    asked for; the paths, the document last.

    All files are prepared before the first one is replaced, the document is replaced last, and
    each appears whole or not at all.

    Raises:
        UsageError: the document's name does not end with .json, so that the others have no name.
        RecordingError: a file cannot be written.
    """
    ending = WRITERS["json"].extension
    if path.suffix.lower() != ending:
        raise UsageError(f"{path}: the name of the document must end with {ending}")
    stem = path.name[: -len(ending)]
    transcript = transcript_of(document)
    contents: dict[Path, bytes] = {}
    for name, writer in WRITERS.items():
        beside = path.with_name(stem + writer.extension)
        wanted = beside.exists() and name not in SPEAKERLESS_FORMATS
        if name != "json" and (wanted or name in formats):
            contents[beside] = writer.render(transcript).encode("utf-8", "backslashreplace")
    contents[path] = json_layout.dump(document).encode("utf-8", "backslashreplace")
    write_together(contents)
    return tuple(contents)
