"""`murmur speakers`: the speakers of a finished result, listed, renamed, merged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmur_cli.commands.console import stderr_console, stdout_console
from murmur_cli.commands.table import print_table

if TYPE_CHECKING:
    from murmur_cli.relabelling.document import Document

HEADER = ("speaker", "talks", "turns", "words", "first words")
FIRST_WORDS = 8


def speakers_command(
    result: Annotated[Path, typer.Argument(help="JSON of a result.", show_default=False)],
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Another name for a speaker; repeatable."),
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,…", help="Speakers who are one person, named like the first; repeatable."
        ),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            help="Formats to write beside those that are there: rttm, srt, vtt, txt, stm, seglst, "
            "ctm or all.",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not list files.")] = False,
) -> None:
    """List the speakers of a result, or change them.

    A change rewrites the JSON and the files of the same name beside it. Merging comes before
    renaming.
    """
    from murmur_cli.audio.path_text import path_text
    from murmur_cli.relabelling.document import read_document, speakers_in
    from murmur_cli.relabelling.edits import edited, parse_merges, parse_renames
    from murmur_cli.relabelling.rewrite import rewrite
    from murmur_cli.writers.registry import parse_formats

    document = read_document(result)
    if not rename and not merge and not formats:
        _list(document)
        return
    labels = speakers_in(document)
    merges = parse_merges(merge or [], labels)
    left = [label for label in labels if label not in merges]
    renames = parse_renames(rename or [], left)
    wanted = parse_formats(formats) if formats else ()
    files = rewrite(result, edited(document, merges, renames), wanted)
    if not quiet:
        stderr_console().print(" ".join(path_text(path) for path in files))


def _list(document: Document) -> None:
    rows = [_row(document, row) for row in document["speakers"]]
    if rows:
        print_table(stdout_console(), HEADER, rows)
    else:
        stderr_console().print("no speakers: nobody talks, or they were not looked for")


def _row(document: Document, row: dict[str, Any]) -> Sequence[str]:
    from murmur_cli.relabelling.document import words_of
    from murmur_cli.writers.clock import whole_clock
    from murmur_cli.writers.field import one_line

    first = words_of(document, row["speaker"])[: FIRST_WORDS + 1]
    text = "".join(" " * word["space_before"] + word["text"] for word in first[:FIRST_WORDS])
    return (
        one_line(row["speaker"]),
        whole_clock(round(row["speech_s"])),
        str(row["turns"]),
        str(row["words"]),
        one_line(text) + (" …" if len(first) > FIRST_WORDS else ""),
    )
