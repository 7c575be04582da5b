"""Where the lines of a subtitle break."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from murmur_cli.punctuation import ends_clause, ends_sentence
from murmur_cli.writers.atom import Atom

MAX_LINE_COLUMNS = 42

# Cost of a break after an atom, in columns of unevenness that are as bad.
_SENTENCE_BREAK, _CLAUSE_BREAK, _WORD_BREAK = 0.0, 3.0, 14.0
_TAG_ALONE = 100.0


@dataclass(frozen=True, slots=True)
class MeasuredText:
    """Atoms of one run with their columns and break costs counted once.

    Attributes:
        atoms: the run.
        tag_columns: columns of the speaker's name before the first atom, 0 without one.
        columns_before: columns of all atoms before each one, with their spaces; one more entry
            at the end.
        break_costs: cost of a break after each atom.
        sentences_before: sentence ends before each atom; one more entry at the end.
    """

    atoms: Sequence[Atom]
    tag_columns: int
    columns_before: list[int]
    break_costs: list[float]
    sentences_before: list[int]

    def columns(self, start: int, end: int) -> int:
        """Columns of atoms start..end on one line, without the speaker's name."""
        return self.columns_before[end] - self.columns_before[start] - self._lead(start)

    def fits(self, start: int, end: int) -> bool:
        """Whether two lines hold these atoms, as `line_break` would set them."""
        tag = self.tag_columns if start == 0 else 0
        if end - start == 1 or tag + self.columns(start, end) <= MAX_LINE_COLUMNS:
            return True
        # As many atoms as the first line holds; one that is wider than the line needs it whole.
        room = MAX_LINE_COLUMNS - tag + self.columns_before[start] + self._lead(start)
        cut = bisect_right(self.columns_before, room, lo=start, hi=end) - 1
        cut = max(cut, start if tag else start + 1)
        return not self._too_wide(self.columns(cut, end), end - cut)

    def line_break(self, start: int, end: int) -> int:
        """First atom of the second line for a cue of these atoms, which must fit.

        It is `end` if one line does and `start` if the speaker's name needs a line for itself.
        Of the breaks that fit, a clause's end is preferred, then lines of like length.
        """
        tag = self.tag_columns if start == 0 else 0
        if tag + self.columns(start, end) <= MAX_LINE_COLUMNS or (end - start == 1 and not tag):
            return end
        best: tuple[float, int] | None = None
        for cut in range(start if tag else start + 1, end):
            first, second = tag + self._first_columns(start, cut), self.columns(cut, end)
            if self._too_wide(first, cut - start + bool(tag)) or self._too_wide(second, end - cut):
                continue
            cost = self.break_costs[cut - 1] if cut > start else _TAG_ALONE
            best = min(best or (float("inf"), end), (abs(first - second) + cost, cut))
        assert best is not None, "the atoms do not fit in two lines"
        return best[1]

    def _first_columns(self, start: int, cut: int) -> int:
        return self.columns(start, cut) if cut > start else 0

    @staticmethod
    def _too_wide(columns: int, parts: int) -> bool:
        """One atom (or a name) alone may be wider than a line: it is never cut."""
        return columns > MAX_LINE_COLUMNS and parts > 1

    def _lead(self, start: int) -> int:
        return int(self.atoms[start].space_before)


def measure(atoms: Sequence[Atom], tag_columns: int) -> MeasuredText:
    """Count the columns and break costs of a run."""
    ends = [ends_sentence(atom.text) for atom in atoms]
    costs = [
        _SENTENCE_BREAK if end else _CLAUSE_BREAK if ends_clause(atom.text) else _WORD_BREAK
        for end, atom in zip(ends, atoms, strict=True)
    ]
    columns = accumulate((atom.width + atom.space_before for atom in atoms), initial=0)
    return MeasuredText(atoms, tag_columns, list(columns), costs, list(accumulate(ends, initial=0)))
