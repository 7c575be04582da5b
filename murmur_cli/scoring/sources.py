"""Paths of one side -> what its files say of each session."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import NoReturn

from murmur_cli.audio.path_text import path_text
from murmur_cli.errors import RecordingError, UsageError
from murmur_cli.scoring.formats.json_text import parse_json
from murmur_cli.scoring.formats.registry import (
    FORMATS,
    Format,
    format_of,
    known_endings,
    named_format,
    stem_of,
)
from murmur_cli.scoring.formats.transcript_json import is_transcript
from murmur_cli.scoring.material import FileContent, SessionMaterial, Utterance
from murmur_cli.scoring.text_file import read_text
from murmur_cli.types import SpeakerTurn
from murmur_cli.writers.field import UNKNOWN_SPEAKER


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that cannot be read, and why in one line that names it."""

    path: Path
    stem: str
    format: str
    reason: str


@dataclass(frozen=True, slots=True)
class Side:
    """Everything that references, or hypotheses, say.

    Attributes:
        sessions: by session id, in order of the ids.
        unreadable: files that were chosen and cannot be read.
        unused: files that were left for another of the same session, one line each.
    """

    sessions: dict[str, SessionMaterial]
    unreadable: tuple[Unreadable, ...]
    unused: tuple[str, ...]

    def without(self, names: Collection[str]) -> Side:
        """The same without these sessions."""
        left = {name: one for name, one in self.sessions.items() if name not in names}
        return replace(self, sessions=left)


@dataclass(frozen=True, slots=True)
class _ReadFile:
    path: Path
    format: Format
    content: FileContent

    def fit(self, session_id: str, sessions: int) -> tuple[bool, int]:
        """Lower is better: a file named after its session first, then by format."""
        named_otherwise = sessions == 1 and stem_of(self.path) != session_id
        return named_otherwise, FORMATS.index(self.format)


def find_files(
    paths: Sequence[Path], pattern: str | None = None, *, apart: Sequence[Path] = ()
) -> tuple[Path, ...]:
    """The files that are meant, in the order given, each once.

    A folder gives the files of known formats in it and below it, hidden ones left out, only those
    whose name matches `pattern` if there is one. What lies below it and is the other side's
    (`apart`) is not its own.

    Raises:
        UsageError: a path does not exist, is of no known format, or a folder has no such file.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if os.path.isdir(path):
            inside = [
                file
                for file in _without(_folder_files(path), path, apart)
                if fnmatch(file.name, pattern or "*")
            ]
            if not inside:
                limit = f" that matches '{pattern}'" if pattern else ""
                raise UsageError(
                    f"{path_text(path)}: no file to score{limit}; known are {known_endings()}"
                )
            found.update(dict.fromkeys(inside))
        elif not os.path.exists(path):
            raise UsageError(f"{path_text(path)}: no such file or folder")
        elif named_format(path) is None:
            raise UsageError(
                f"{path_text(path)}: its ending is of no known format; known are {known_endings()}"
            )
        else:
            found[path] = None
    return tuple(found)


def _folder_files(folder: Path) -> list[Path]:
    """Files of known formats in and below it, hidden ones left out, in order of their paths."""
    found: list[Path] = []
    for root, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(root, name) for name in files if not name.startswith(".")]
    return sorted(file for file in found if named_format(file) is not None and file.is_file())


def _without(files: Sequence[Path], folder: Path, apart: Sequence[Path]) -> list[Path]:
    """The files that lie in none of the places `apart` that are below the folder."""
    root = folder.resolve()
    places = [place for one in apart if root in (place := one.resolve()).parents]
    if not places:
        return list(files)
    found = ((file, file.resolve()) for file in files)
    return [
        file
        for file, place in found
        if not any(other == place or other in place.parents for other in places)
    ]


def _refuse(error: OSError) -> NoReturn:
    # What lies in it would be taken for missing.
    raise UsageError(f"{path_text(Path(error.filename))}: cannot be read ({error.strerror})")


def read_side(files: Sequence[Path], *, chosen: frozenset[Path] = frozenset()) -> Side:
    """Read the files and put together what they say of each session.

    Words come from one file a session and turns from one: a file named after its session before
    another, then by format (STM, SegLST, JSON, CTM, VTT, SRT; RTTM, JSON, else the utterances). A
    JSON document of something else is passed over unless it is one of `chosen`.

    Raises:
        UsageError: two files of one format hold the same session.
    """
    read: list[_ReadFile] = []
    unreadable: list[Unreadable] = []
    for path in files:
        try:
            one = _read(path, passed_over=path not in chosen)
        except RecordingError as error:
            unreadable.append(
                Unreadable(path, stem_of(path), _named(path).name, f"{path_text(path)}: {error}")
            )
        else:
            if one is not None:
                read.append(one)
    words = _choose(
        [(one, one.content.utterances) for one in read if one.content.utterances is not None]
    )
    turns = _choose([(one, one.content.turns) for one in read if one.content.turns is not None])
    ids = sorted({*words.chosen, *turns.chosen})
    sessions = {
        name: _material(name, words.chosen.get(name), turns.chosen.get(name)) for name in ids
    }
    return Side(sessions, tuple(unreadable), (*words.unused, *turns.unused))


def read_references(
    paths: Sequence[Path], pattern: str | None = None, *, apart: Sequence[Path] = ()
) -> Side:
    """What the references say; `pattern` and `apart` as for `find_files`.

    Raises:
        UsageError: there are none, one cannot be read, or two files hold the same session.
    """
    side = read_side(find_files(paths, pattern, apart=apart), chosen=frozenset(paths))
    if side.unreadable:
        raise UsageError(f"reference {side.unreadable[0].reason}")
    return side


def _named(path: Path) -> Format:
    found = named_format(path)
    assert found is not None, path
    return found


def _read(path: Path, *, passed_over: bool) -> _ReadFile | None:
    text = read_text(path)
    found = format_of(path, text)
    assert found is not None, path
    if found.name == "json" and passed_over and not is_transcript(parse_json(text)):
        return None
    return _ReadFile(path, found, found.read(text, stem_of(path)))


@dataclass(frozen=True, slots=True)
class _Chosen:
    chosen: dict[str, _ReadFile]
    unused: tuple[str, ...]


def _choose(files: Sequence[tuple[_ReadFile, object]]) -> _Chosen:
    """One file for each session."""
    candidates: dict[str, list[tuple[tuple[bool, int], _ReadFile]]] = defaultdict(list)
    for file, sessions in files:
        assert isinstance(sessions, dict)
        for name in sessions:
            candidates[name].append((file.fit(name, len(sessions)), file))
    chosen: dict[str, _ReadFile] = {}
    unused: dict[str, None] = {}
    for name, ranked in candidates.items():
        ranked.sort(key=lambda one: one[0])
        best = [file for fit, file in ranked if fit == ranked[0][0]]
        if len(best) > 1:
            raise UsageError(
                f"'{name}' is in {path_text(best[0].path)} and in {path_text(best[1].path)}; "
                "give one of them"
            )
        chosen[name] = best[0]
        for _, file in ranked[1:]:
            if file.format is best[0].format:
                unused[f"{path_text(file.path)}: '{name}' is taken from {best[0].path.name}"] = None
    return _Chosen(chosen, tuple(unused))


def _material(session_id: str, words: _ReadFile | None, turns: _ReadFile | None) -> SessionMaterial:
    utterances = (words.content.utterances or {})[session_id] if words is not None else None
    if turns is not None:
        spoken, turns_from = (turns.content.turns or {})[session_id], turns.format.name
    elif words is not None and utterances is not None:
        spoken, turns_from = _as_turns(utterances), words.format.name
    return SessionMaterial(
        session_id,
        next(_sole_stems([words, turns]), None),
        utterances,
        tuple(spoken),
        words.format.name if words is not None else None,
        turns_from,
        (words.content.ignored if words is not None else {}).get(session_id, ()),
        words is None or words.content.segmented,
        turns_made=turns is None,
    )


def _sole_stems(files: Sequence[_ReadFile | None]) -> Iterator[str]:
    """Stems of files that hold one session only."""
    for file in files:
        if file is not None:
            held = file.content.utterances or file.content.turns or {}
            if len(held) == 1:
                yield stem_of(file.path)


def _as_turns(utterances: Sequence[Utterance]) -> tuple[SpeakerTurn, ...]:
    return tuple(
        SpeakerTurn(one.span, one.speaker or UNKNOWN_SPEAKER)
        for one in utterances
        if one.span.duration_s > 0
    )
