"""What '--enroll' asks for: clips with a name, and files of voices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.path_text import path_text
from murmur_cli.enrolment.voice_file import read_voices
from murmur_cli.errors import UsageError
from murmur_cli.speaker_name import GENERATED_LABEL, clean_name
from murmur_cli.types import KnownVoices


@dataclass(frozen=True, slots=True)
class ClipRequest:
    """A clip in which the person of that name talks."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class EnrolRequest:
    """Clips to listen to, and voices that were stored before, by their file."""

    clips: tuple[ClipRequest, ...]
    stored: tuple[tuple[Path, KnownVoices], ...]


NO_ENROLMENT = EnrolRequest((), ())


def parse_requests(values: Sequence[str], option: str) -> EnrolRequest:
    """Each value is NAME=FILE, or a file that 'murmur enroll' wrote.

    A name and a path may both hold '='; the last '=' after which an existing file is named
    counts, else the first. The same name may come several times.

    Raises:
        UsageError: neither form, a file that is not there or not one of voices, or a name that
            cannot be one.
    """
    clips: list[ClipRequest] = []
    stored: list[tuple[Path, KnownVoices]] = []
    for value in values:
        if Path(value).is_file() and ("=" not in value or value.endswith(".json")):
            stored.append((Path(value), read_voices(Path(value))))
        elif "=" not in value:
            raise UsageError(
                f"{option} {path_text(Path(value))}: no such file; give NAME=FILE, or a file that"
                " 'murmur enroll' wrote"
            )
        else:
            clips.append(_clip(value, option))
    return EnrolRequest(tuple(clips), tuple(stored))


def _clip(value: str, option: str) -> ClipRequest:
    cuts = [at for at, char in enumerate(value) if char == "="]
    cut = next((at for at in reversed(cuts) if Path(value[at + 1 :]).is_file()), cuts[0])
    path = Path(value[cut + 1 :])
    shown = f"{option} {path_text(Path(value))}"
    name = clean_name(value[:cut], shown)
    if GENERATED_LABEL.fullmatch(name):
        raise UsageError(f"{shown}: speakers who are not known are called so; choose another name")
    if not value[cut + 1 :]:
        raise UsageError(f"{shown}: the file is missing; give NAME=FILE")
    if not path.is_file():
        raise UsageError(f"{shown}: {path_text(path)}: no such file")
    return ClipRequest(name, path)
