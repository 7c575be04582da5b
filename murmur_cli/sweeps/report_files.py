"""A sweep's reports on disk: JSON, CSV, pictures, and one page that needs nothing else."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from murmur_cli.sweeps.figures import figures_of, rendered
from murmur_cli.sweeps.results import SweepResult
from murmur_cli.sweeps.table import header, rows, sweep_csv, sweep_json
from murmur_cli.writers.output import write_whole

CAPTIONS = {
    "curves": "Accuracy and time",
    "pareto": "Accuracy against time",
    "stages": "Time by stage",
}
STYLE = (
    "body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "td,th{padding:.25rem .6rem;border-bottom:1px solid #ddd;text-align:right}"
    "td:first-child,th:first-child{text-align:left}tr.chosen{background:#eef5ee}"
    "img{max-width:100%}.advice{font-size:1.15rem}li{color:#555}div{overflow-x:auto}"
)


def write_sweep(result: SweepResult, folder: Path) -> tuple[Path, ...]:
    """Write `sweep.json`, `.csv` and `.html` and every picture as PNG and SVG.

    Raises:
        RecordingError: a file cannot be written.
    """
    pictures = {
        f"{name}.{kind}": rendered(figure, kind)
        for name, figure in figures_of(result).items()
        for kind in ("png", "svg")
    }
    contents = {
        "sweep.json": _bytes(sweep_json(result)),
        "sweep.csv": _bytes(sweep_csv(result)),
        "sweep.html": _bytes(sweep_html(result, pictures)),
        **pictures,
    }
    paths = []
    for name, content in contents.items():
        write_whole(folder / name, content)
        paths.append(folder / name)
    return tuple(paths)


def sweep_html(result: SweepResult, pictures: dict[str, bytes]) -> str:
    """One page with pictures inside it."""
    chosen = result.recommendation
    advice = chosen.text if chosen is not None else "no setting is without failures"
    titles = "".join(f"<th>{escape(title)}</th>" for title in header(result))
    lines = []
    for summary, row in zip(result.summaries, rows(result), strict=True):
        marked = chosen is not None and summary.setting == chosen.summary.setting
        mark = ' class="chosen"' if marked else ""
        lines.append(f"<tr{mark}>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>")
    shown = [
        f'<h2>{caption}</h2><img alt="{caption}" src="data:image/svg+xml;base64,'
        f'{base64.b64encode(pictures[f"{name}.svg"]).decode("ascii")}">'
        for name, caption in CAPTIONS.items()
        if f"{name}.svg" in pictures
    ]
    failures = [
        f"<li>failed: {escape(session)}: {escape(reason)}</li>"
        for session, reason in result.failures.items()
    ]
    about = [f"<li>{escape(line)}</li>" for line in result.about]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(result.title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(result.title)}</h1>",
            f'<p class="advice">{escape(advice)}</p>',
            f"<div><table><thead><tr>{titles}</tr></thead><tbody>",
            *lines,
            "</tbody></table></div>",
            *shown,
            "<h2>How</h2><ul>",
            *about,
            *failures,
            "</ul></body></html>",
            "",
        ]
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")
