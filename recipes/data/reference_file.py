"""References as files that `murmur score` reads: NAME.stm and NAME.rttm."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.writers.field import escape_field
from murmur_cli.writers.output import write_whole

TOUCHING_S = 0.0005
"""Words of one speaker that are no further apart are one turn."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """An utterance, or a word of one; seconds from the start of the recording."""

    start_s: float
    end_s: float
    speaker: str
    text: str


def write_stm(folder: Path, session: str, spoken: Iterable[Spoken], *notes: str) -> Path:
    """Write the utterances in order of time; `notes` become comments on top."""
    ordered = sorted(spoken, key=lambda one: (one.start_s, one.end_s, one.speaker))
    name = escape_field(session)
    lines = [f";; {note}" for note in notes]
    lines += [
        f"{name} 1 {escape_field(one.speaker)} {one.start_s:.3f} {one.end_s:.3f} {_line(one.text)}"
        for one in ordered
    ]
    return _write(folder / f"{session}.stm", lines)


def write_rttm(folder: Path, session: str, words: Iterable[Spoken]) -> Path:
    """Write the turns that touching words of a speaker make."""
    name = escape_field(session)
    lines = [
        f"SPEAKER {name} 1 {turn.start_s:.3f} {turn.end_s - turn.start_s:.3f} <NA> <NA> "
        f"{escape_field(turn.speaker)} <NA> <NA>"
        for turn in turns_of(words)
    ]
    return _write(folder / f"{session}.rttm", lines)


def turns_of(words: Iterable[Spoken]) -> list[Spoken]:
    """Touching and overlapping words of one speaker joined, in order of time."""
    turns: list[Spoken] = []
    last: dict[str, int] = {}
    for word in sorted(words, key=lambda one: (one.start_s, one.end_s)):
        if word.end_s <= word.start_s:
            continue
        at = last.get(word.speaker)
        if at is not None and word.start_s <= turns[at].end_s + TOUCHING_S:
            end_s = max(turns[at].end_s, word.end_s)
            turns[at] = Spoken(turns[at].start_s, end_s, word.speaker, "")
            continue
        last[word.speaker] = len(turns)
        turns.append(Spoken(word.start_s, word.end_s, word.speaker, ""))
    return turns


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{line}\n" for line in lines).encode("utf-8"))
    return path
