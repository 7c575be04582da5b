"""The smallest pieces of text that a subtitle keeps together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from murmur_cli.types import TimeSpan, Word
from murmur_cli.writers.field import one_line
from murmur_cli.writers.script import display_width, may_break_before


@dataclass(frozen=True, slots=True)
class Atom:
    """A word, or a piece of one where the script sets no spaces. `width` is in columns."""

    text: str
    space_before: bool
    span: TimeSpan
    width: int


def atoms_of(words: Sequence[Word]) -> list[Atom]:
    """The words as atoms. Joined again they give the same text, white space made single."""
    atoms: list[Atom] = []
    for piece in _pieces(words):
        if atoms and not piece.space_before and not may_break_before(atoms[-1].text, piece.text):
            atoms[-1] = _glue(atoms[-1], piece)
        else:
            atoms.append(piece)
    return atoms


def _pieces(words: Sequence[Word]) -> Iterator[Atom]:
    for word in words:
        for at, part in enumerate(one_line(word.text).split(" ")):
            if part:
                # Parts of a word with a space inside all keep the word's time.
                yield from _split(part, word.space_before or at > 0, word.span)


def _split(text: str, space_before: bool, span: TimeSpan) -> Iterator[Atom]:
    """Cut one word wherever a line may break, its time shared by width."""
    if text.isascii():  # nearly every word of most recordings, and nowhere to cut
        yield Atom(text, space_before, span, len(text))
        return
    cuts = [at for at in range(1, len(text)) if may_break_before(text[:at], text[at:])]
    parts = [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]
    widths = [max(1, display_width(part)) for part in parts]
    total = sum(widths)
    edges_s = [span.start_s + span.duration_s * done / total for done in accumulate(widths)]
    edges_s[-1] = span.end_s
    starts_s = [span.start_s, *edges_s[:-1]]
    for at, (part, start_s, end_s) in enumerate(zip(parts, starts_s, edges_s, strict=True)):
        part_span = TimeSpan(start_s, max(start_s, end_s))
        yield Atom(part, space_before and at == 0, part_span, display_width(part))


def _glue(left: Atom, right: Atom) -> Atom:
    start_s = min(left.span.start_s, right.span.start_s)
    end_s = max(left.span.end_s, right.span.end_s)
    text = left.text + right.text
    return Atom(text, left.space_before, TimeSpan(start_s, end_s), left.width + right.width)


def join_atoms(atoms: Sequence[Atom]) -> str:
    """Text of the atoms on one line; no space at the start."""
    spaced = "".join(" " * atom.space_before + atom.text for atom in atoms)
    return spaced.removeprefix(" ")
