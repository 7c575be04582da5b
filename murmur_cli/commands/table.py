"""One table for people: ruled on a terminal, plain aligned text elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

GAP = "  "


def print_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a header. Every row has one cell for each name of the header; the first
    one names the row and is never broken."""
    if console.is_terminal:
        table = Table(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            padding=(0, 1, 0, 0),
        )
        for index, name in enumerate(header):
            table.add_column(name, overflow="fold", no_wrap=index == 0)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        console.print(table)
        return
    for line in aligned([header, *rows]):
        console.print(line)


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells padded to the widest of their column; no blanks at the end of a line."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
