from itertools import product

import pytest

from murmur_cli.writers.atom import atoms_of
from murmur_cli.writers.line_break import MAX_LINE_COLUMNS, measure
from support.factories import make_word


def _measured(lengths, tag_columns=0):
    words = [make_word("x" * length, at, at + 1) for at, length in enumerate(lengths)]
    return measure(atoms_of(words), tag_columns)


def _fits_by_trying(lengths, tag_columns):
    """Some division in two lines where only a line of one part is wider than allowed."""
    parts = ([tag_columns - 1] if tag_columns else []) + list(lengths)  # joined by spaces again
    if len(lengths) == 1:
        return True

    def holds(line):
        return len(line) <= 1 or sum(line) + len(line) - 1 <= MAX_LINE_COLUMNS

    return any(holds(parts[:cut]) and holds(parts[cut:]) for cut in range(1, len(parts) + 1))


@pytest.mark.parametrize("tag_columns", [0, 12])
def test_fits_when_compared_with_trying_every_break_then_same(tag_columns):
    for lengths in product((1, 20, 29, 30, 42, 60), repeat=3):
        for count in (1, 2, 3):
            text = _measured(lengths[:count], tag_columns)
            expected = _fits_by_trying(lengths[:count], tag_columns)
            assert text.fits(0, count) is expected, (lengths[:count], tag_columns)
            if expected:
                assert 0 <= text.line_break(0, count) <= count


def test_line_break_when_clause_ends_near_the_middle_then_there():
    words = ["we", "went", "there", "yesterday,", "but", "nobody", "was", "at", "home", "today"]
    text = measure(atoms_of([make_word(word, 0, 1) for word in words]), 0)
    assert text.line_break(0, len(words)) == 4


def test_line_break_when_one_line_does_then_all():
    assert _measured([20, 21]).line_break(0, 2) == 2


def test_line_break_when_name_and_word_are_too_wide_then_name_alone():
    assert _measured([35, 5], tag_columns=12).line_break(0, 2) == 0
