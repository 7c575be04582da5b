"""The formats by the ending of a file's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.scoring.formats import ctm, rttm, seglst, stm, subtitles, transcript_json
from murmur_cli.scoring.material import FileContent

Read = Callable[[str, str], FileContent]
"""Text of a file and its stem -> what it says; raises RecordingError without the file's name."""


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its name, the endings of its files in lower case, its reader."""

    name: str
    endings: tuple[str, ...]
    read: Read


# In the order in which a session's turns and words are taken where several files hold them.
FORMATS = (
    Format("rttm", (".rttm",), rttm.read),
    Format("stm", (".stm",), stm.read),
    Format("seglst", (".seglst.json",), seglst.read),
    Format("json", (".json",), transcript_json.read),
    Format("ctm", (".ctm",), ctm.read),
    Format("vtt", (".vtt",), subtitles.read_vtt),
    Format("srt", (".srt",), subtitles.read_srt),
)
UEM_ENDING = ".uem"
SEGLST, JSON = FORMATS[2], FORMATS[3]


def format_of(path: Path, text: str) -> Format | None:
    """The format of a file, by its name, and for plain `.json` by its first character."""
    found = named_format(path)
    if found is JSON and text.lstrip()[:1] == "[":
        return SEGLST
    return found


def named_format(path: Path) -> Format | None:
    """The format that a file's name says; None if none."""
    name = path.name.lower()
    return next((one for one in FORMATS if name.endswith(one.endings)), None)


def stem_of(path: Path) -> str:
    """The file's name without the ending of its format."""
    found = named_format(path)
    if found is None:
        return path.stem
    ending = next(ending for ending in found.endings if path.name.lower().endswith(ending))
    return path.name[: -len(ending)]


def known_endings() -> str:
    """The endings, for a message."""
    return ", ".join(ending for one in FORMATS for ending in one.endings)
