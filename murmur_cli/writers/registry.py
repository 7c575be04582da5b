"""The output formats by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from murmur_cli.errors import UsageError
from murmur_cli.near_name import did_you_mean
from murmur_cli.types import Transcript
from murmur_cli.writers import ctm, json_document, rttm, seglst, srt, stm, text, vtt

ALL = "all"


@dataclass(frozen=True, slots=True)
class Writer:
    """One format: its name on the command line, its extension with the dot, its renderer."""

    name: str
    extension: str
    render: Callable[[Transcript], str]


WRITERS: dict[str, Writer] = {
    writer.name: writer
    for writer in (
        Writer("rttm", ".rttm", rttm.render),
        Writer("srt", ".srt", srt.render),
        Writer("json", ".json", json_document.render),
        Writer("vtt", ".vtt", vtt.render),
        Writer("txt", ".txt", text.render),
        Writer("stm", ".stm", stm.render),
        Writer("seglst", ".seglst.json", seglst.render),
        Writer("ctm", ".ctm", ctm.render),
    )
}


def parse_formats(values: Sequence[str]) -> tuple[str, ...]:
    """Names of formats, each once, in the order given.

    Each value holds one or more names with commas between; case does not matter, and 'all'
    stands for every format.

    Raises:
        UsageError: an unknown name, or no name at all.
    """
    names = [name.strip().lower() for value in values for name in value.split(",")]
    chosen: dict[str, None] = {}
    for name in filter(None, names):
        chosen.update(dict.fromkeys(WRITERS if name == ALL else [_known(name)]))
    if not chosen:
        raise UsageError(f"--format names no format; known formats are {_known_names()}")
    return tuple(chosen)


def _known(name: str) -> str:
    if name in WRITERS:
        return name
    hint = did_you_mean(name, [*WRITERS, ALL])
    raise UsageError(f"--format {name}: unknown format{hint}; known formats are {_known_names()}")


def _known_names() -> str:
    return ", ".join([*WRITERS, ALL])
