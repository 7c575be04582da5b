"""Which hypothesis belongs to which reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from murmur_cli.audio.discover import MEDIA_EXTENSIONS
from murmur_cli.scoring.formats.registry import FORMATS
from murmur_cli.scoring.material import SessionMaterial
from murmur_cli.scoring.sources import Side, Unreadable


class Standing(StrEnum):
    """What there is to score of a session."""

    SCORED = "scored"
    EMPTY = "empty"
    """The hypothesis has no words and no turns; everything counts as left out."""
    MISSING = "missing"
    """No file has a hypothesis; everything counts as left out."""
    FAILED = "failed"
    """The file of the hypothesis cannot be read; the session is not scored."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A reference and its hypothesis, None unless scored or empty. `note` says how they met if
    their ids differ, or what failed."""

    reference: SessionMaterial
    hypothesis: SessionMaterial | None
    standing: Standing
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Pairing:
    """Pairs in order of the references' ids, and hypotheses that no reference asks for."""

    pairs: tuple[Pair, ...]
    without_reference: tuple[str, ...]


def pair_sessions(references: Side, hypotheses: Side) -> Pairing:
    """Pair by session id; what is left, by the name of the file, then by the id without the ending
    of a recording ('talk.mp3' for 'talk').

    A session whose file cannot be read has failed; so has every session without hypothesis if a
    file that could hold it cannot be read.
    """
    left = dict(hypotheses.sessions)
    met: dict[str, tuple[SessionMaterial, str | None]] = {}
    for name in references.sessions:
        if name in left:
            met[name] = (left.pop(name), None)
    for name, reference in references.sessions.items():
        if name not in met and (found := _other_name(reference, left)) is not None:
            note = f"hypothesis '{found}', by its file's name"
            met[name] = (left.pop(found), note)
    return Pairing(
        tuple(
            _pair(one, met.get(name), references, hypotheses)
            for name, one in references.sessions.items()
        ),
        tuple(left),
    )


def _other_name(reference: SessionMaterial, left: Mapping[str, SessionMaterial]) -> str | None:
    """The one hypothesis that is called like the reference in another way."""
    names = {reference.session_id, reference.file_stem} - {None}
    for called in (
        lambda one: {one.session_id, one.file_stem},
        lambda one: {_without_media_ending(one.session_id)},
    ):
        found = [name for name, one in left.items() if names & called(one)]
        if len(found) == 1:
            return found[0]
    return None


def _without_media_ending(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    return stem if dot and f".{ending.lower()}" in MEDIA_EXTENSIONS else name


def _pair(
    reference: SessionMaterial,
    met: tuple[SessionMaterial, str | None] | None,
    references: Side,
    hypotheses: Side,
) -> Pair:
    names = {reference.session_id, reference.file_stem}
    hypothesis, note = met if met is not None else (None, None)
    broken = [
        one for one in hypotheses.unreadable if one.stem in names and _is_needed(one, hypothesis)
    ]
    if hypothesis is None:
        known = {one.stem for one in hypotheses.unreadable} & set(references.sessions)
        broken = broken or [one for one in hypotheses.unreadable if one.stem not in known]
    if broken:
        return Pair(reference, None, Standing.FAILED, broken[0].reason)
    if hypothesis is None:
        return Pair(reference, None, Standing.MISSING)
    spoken = hypothesis.utterances or hypothesis.turns
    return Pair(reference, hypothesis, Standing.SCORED if spoken else Standing.EMPTY, note)


def _is_needed(broken: Unreadable, hypothesis: SessionMaterial | None) -> bool:
    """Whether the file would have been used, had it been readable."""
    if hypothesis is None:
        return True
    if broken.format == "rttm":
        return True
    better_words = hypothesis.words_from is not None and _rank(hypothesis.words_from) < _rank(
        broken.format
    )
    return not better_words or (broken.format == "json" and hypothesis.turns_from != "rttm")


def _rank(name: str) -> int:
    return next(at for at, one in enumerate(FORMATS) if one.name == name)
