"""The rows of a part as cells of text, for a console or a Markdown file."""

from __future__ import annotations

from murmur_cli.bench.record import BenchPart, BenchReport, BenchRow, Detail


def header(part: BenchPart) -> tuple[str, ...]:
    """Titles of the columns."""
    return (
        part.title,
        f"median {part.scale}",
        "min",
        "quartiles",
        "n",
        "× faster",
        *(column.title for column in part.columns),
    )


def cells(part: BenchPart, row: BenchRow) -> tuple[str, ...]:
    """One row under `header`."""
    figures = tuple(column.text(row.figures.get(column.key)) for column in part.columns)
    if row.not_run is not None:
        return (row.name, f"not run: {row.not_run}", *("–",) * (len(figures) + 4))
    spread = row.spread
    if spread is None:
        return (row.name, *("–",) * 5, *figures)
    unit = part.scale.per_second
    ratio = part.times_faster(row)
    return (
        row.name,
        f"{spread.median * unit:.2f}",
        f"{spread.minimum * unit:.2f}",
        f"{spread.lower_quartile * unit:.2f}–{spread.upper_quartile * unit:.2f}",
        str(spread.count),
        "–" if ratio is None else f"{ratio:.2f}",
        *figures,
    )


def markdown(report: BenchReport) -> str:
    """The whole report as Markdown."""
    lines = [f"# {report.name}", ""]
    lines += [f"- {key}: {_plain(value)}" for key, value in report.machine.items()]
    lines += [f"- {remark}" for remark in report.remarks]
    for part in report.parts:
        titles = header(part)
        lines += ["", f"## {part.title}", "", part.note, ""]
        lines += [_line(("", *titles[1:])), _line(("---", *("---:",) * (len(titles) - 1)))]
        lines += [_line(cells(part, row)) for row in part.rows]
        lines += ["", f"× faster: than “{part.baseline}”, median over the rounds."]
        for detail in part.details:
            lines += _of_recordings(part, detail)
    return "\n".join(lines) + "\n"


def _of_recordings(part: BenchPart, detail: Detail) -> list[str]:
    """A table of one figure: recordings down, contenders across; nothing if there is none."""
    rows = [row for row in part.rows if row.recordings]
    if not rows:
        return []
    truth = detail.truth
    titles = ("recording", *([truth.title] if truth else []), *(row.name for row in rows))
    lines = ["", f"{detail.shown.title} of each recording:", "", _line(titles)]
    lines.append(_line(("---", *("---:",) * (len(titles) - 1))))
    for name, figures in rows[0].recordings.items():
        known = [truth.text(figures.get(truth.key))] if truth else []
        found = [detail.shown.text(row.recordings[name].get(detail.shown.key)) for row in rows]
        lines.append(_line((name, *known, *found)))
    return lines


def _line(texts: tuple[str, ...]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return str(value)
