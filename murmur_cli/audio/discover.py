"""Paths of the command line -> the recordings of one run, each with its own session id."""

from __future__ import annotations

import glob
import os
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.path_text import path_text
from murmur_cli.errors import UsageError

AUDIO_EXTENSIONS = frozenset(
    {".8svx", ".aac", ".ac3", ".aif", ".aifc", ".aiff", ".amr", ".ape", ".au", ".caf", ".dts"}
    | {".eac3", ".flac", ".gsm", ".m4a", ".m4b", ".mka", ".mp2", ".mp3", ".oga", ".ogg", ".opus"}
    | {".ra", ".rf64", ".snd", ".sph", ".spx", ".tta", ".voc", ".w64", ".wav", ".wave", ".wma"}
    | {".wv"}
)
VIDEO_EXTENSIONS = frozenset(
    {".3gp", ".asf", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg"}
    | {".mts", ".mxf", ".ogv", ".rm", ".ts", ".vob", ".webm", ".wmv"}
)
MEDIA_EXTENSIONS = AUDIO_EXTENSIONS | VIDEO_EXTENSIONS
"""Extensions that a folder's files are chosen by, lower case. A file named by the user is taken
whatever it is called."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """One recording to read; `session_id` is unique in the run, without regard to case."""

    path: Path
    session_id: str


def find_inputs(paths: Sequence[Path], *, recursive: bool) -> tuple[InputFile, ...]:
    """The recordings that the user means, in the order given.

    A file is taken as named; a path that does not exist too, so that reading it fails for it
    alone. A folder gives its media files in order of name, hidden ones left out; `recursive`
    goes below its first level. A wildcard that the shell did not expand is expanded here.
    The same file given twice is taken once. Session ids: see `assign_session_ids`.

    Raises:
        UsageError: no path, a folder without media files, or a wildcard that matches nothing.
    """
    if not paths:
        raise UsageError("no input: give at least one file or folder")
    seen: set[str] = set()
    unique: list[Path] = []
    for path in paths:
        for found in _expand(path, recursive):
            identity = os.path.realpath(found)
            if identity not in seen:
                seen.add(identity)
                unique.append(found)
    return assign_session_ids(unique)


def assign_session_ids(paths: Sequence[Path]) -> tuple[InputFile, ...]:
    """Name each file by its stem, and keep apart those whose names would be the same.

    Names count as the same when they differ only in case or in Unicode form, since they could
    not lie side by side on every disk. Files that share a name all take the next longer form
    that tells them apart: `call`, then `call.wav`, then `monday-call.wav` with the parent
    folder. What is still the same is numbered in the order given: `monday-call.wav-2`.
    """
    forms: tuple[Callable[[Path], str], ...] = (_stem, _name, _name_with_folder)
    names = [_stem(path) for path in paths]
    for form in forms[1:]:
        shared = _shared(names)
        names = [
            form(path) if _fold(name) in shared else name
            for path, name in zip(paths, names, strict=True)
        ]
    return tuple(InputFile(path, name) for path, name in zip(paths, _numbered(names), strict=True))


def _expand(path: Path, recursive: bool) -> Iterator[Path]:
    if path.is_dir():
        yield from _expand_folder(path, recursive)
    elif not os.path.lexists(path) and glob.has_magic(str(path)):
        yield from _expand_wildcard(path, recursive)
    else:
        yield path


def _expand_folder(folder: Path, recursive: bool) -> Iterable[Path]:
    found = sorted(_media_files(folder, recursive), key=lambda path: path.parts)
    if found:
        return found
    if _is_media_name(folder.name):
        # A folder called x.wav is most likely a slip for a file; it fails by itself.
        return [folder]
    hint = "" if recursive else "; --recursive searches the folders in it"
    raise UsageError(f"{path_text(folder)}: no audio or video file in this folder{hint}")


def _media_files(folder: Path, recursive: bool) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and recursive)
        for name in files:
            if not name.startswith(".") and _is_media_name(name):
                yield Path(root, name)


def _expand_wildcard(pattern: Path, recursive: bool) -> Iterable[Path]:
    matches = [Path(match) for match in sorted(glob.glob(str(pattern), recursive=recursive))]
    files = [match for match in matches if match.is_file()]
    if not files:
        raise UsageError(f"{path_text(pattern)}: no file matches")
    # 'call*' in a folder of audio, subtitles and notes means the audio.
    return [file for file in files if _is_media_name(file.name)] or files


def _is_media_name(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in MEDIA_EXTENSIONS


def _stem(path: Path) -> str:
    return path.stem


def _name(path: Path) -> str:
    return path.name


def _name_with_folder(path: Path) -> str:
    folder = Path(os.path.abspath(path)).parent.name
    return f"{folder}-{path.name}" if folder else path.name


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _shared(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(map(_fold, names)).items() if count > 1}


def _numbered(names: Sequence[str]) -> Iterator[str]:
    reserved = Counter(map(_fold, names))
    taken: set[str] = set()
    for name in names:
        candidate, number = name, 1
        while _fold(candidate) in taken or (number > 1 and _fold(candidate) in reserved):
            number += 1
            candidate = f"{name}-{number}"
        taken.add(_fold(candidate))
        yield candidate
