"""Which stretches of a session are scored: what UEM files say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from murmur_cli.audio.path_text import path_text
from murmur_cli.errors import RecordingError, UsageError
from murmur_cli.scoring.formats import uem
from murmur_cli.scoring.formats.registry import UEM_ENDING
from murmur_cli.scoring.text_file import read_text
from murmur_cli.types import TimeSpan

NO_UEM = "none"
"""Of `--uem`: whole files."""


def read_stretches(
    asked: str | None, references: Sequence[Path]
) -> dict[str, tuple[TimeSpan, ...]]:
    """Scored stretches by session id; a session that is not there is scored whole.

    asked: `--uem`: a path, 'none', or None for the UEM files in those `references` that are
    folders.

    Raises:
        UsageError: the UEM that was asked for is not there, one cannot be read, or two files are
            about one session.
    """
    if asked == NO_UEM:
        return {}
    if asked is not None:
        return read_uem([Path(asked)])
    return read_uem([path for path in references if has_uem(path)])


def has_uem(folder: Path) -> bool:
    """Whether it is a folder with UEM files in it or below it."""
    return folder.is_dir() and any(folder.rglob(f"*{UEM_ENDING}"))


def read_uem(paths: Sequence[Path]) -> dict[str, tuple[TimeSpan, ...]]:
    """Scored stretches by session id, of files and of the UEM files in folders.

    Raises:
        UsageError: a folder has none, one is unreadable, or one session is in two files.
    """
    found: dict[str, tuple[TimeSpan, ...]] = {}
    for file in dict.fromkeys(file for path in paths for file in _files(path)):
        try:
            spans = uem.read(read_text(file))
        except RecordingError as error:
            raise UsageError(f"{path_text(file)}: {error}") from error
        for name in spans.keys() & found.keys():
            raise UsageError(f"{path_text(file)}: '{name}' is in another UEM file, too")
        found.update(spans)
    return found


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(path.rglob(f"*{UEM_ENDING}"))
    if not files:
        raise UsageError(f"{path_text(path)}: no {UEM_ENDING} file in this folder")
    return files
