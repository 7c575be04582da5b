"""Writes a report as JSON, Markdown and SVG."""

from __future__ import annotations

from pathlib import Path

from murmur_cli.bench import report_json, report_picture, report_table
from murmur_cli.bench.record import BenchReport
from murmur_cli.errors import UsageError

STEM = "bench"


def write_report(report: BenchReport, folder: Path) -> tuple[Path, ...]:
    """Write bench.json, bench.md and bench.svg into `folder`, which is made if need be.

    Raises:
        UsageError: the folder cannot be made or written.
    """
    contents = {
        "json": report_json.render(report),
        "md": report_table.markdown(report),
        "svg": report_picture.render(report),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = tuple(folder / f"{STEM}.{ending}" for ending in contents)
        for path, content in zip(paths, contents.values(), strict=True):
            path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}; give another -o") from error
    return paths
