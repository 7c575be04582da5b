"""Earnings-21: references from its `.nlp` tables (token, speaker, …, one token a line).

The reference tables have no times, so neither have ours: the STM's seconds only number the turns.
WER and cpWER, which go by order, are right; tcpWER and DER would not be, and the recipe does not
ask for them. Case and punctuation, which have columns of their own, are not added.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from data.reference_file import Spoken, write_stm
from murmur_cli.errors import UsageError

NOTE = "the times number the turns and are no seconds: score WER and cpWER only"
COLUMNS = ("token", "speaker")


def read_tokens(path: Path) -> list[tuple[str, str]]:
    """(speaker, token) in order.

    Raises:
        UsageError: it cannot be read, or lacks a column.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="|", quoting=csv.QUOTE_NONE)
            if not set(COLUMNS) <= set(rows.fieldnames or ()):
                raise UsageError(f"{path}: no table with the columns {', '.join(COLUMNS)}")
            return [(row["speaker"], row["token"]) for row in rows if row["token"]]
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error


def turns(tokens: list[tuple[str, str]]) -> Iterator[Spoken]:
    """One for each run of tokens of one speaker; turn n 'lasts' from n to n + 1."""
    for number, (speaker, run) in enumerate(groupby(tokens, key=lambda token: token[0])):
        text = " ".join(token for _, token in run)
        yield Spoken(float(number), number + 1.0, f"speaker_{speaker}", text)


def write_references(source: Path, folder: Path) -> Path:
    """Write the file of one call under its name.

    Raises:
        UsageError: see `read_tokens`.
    """
    return write_stm(folder, source.stem, turns(read_tokens(source)), NOTE)
