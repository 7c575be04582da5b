"""The report as a JSON document: every repeat and every option, no path and no host's name."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from murmur_cli.bench.record import BenchPart, BenchReport, BenchRow, Figure

SCHEMA_VERSION = "1.1"
TIME_DIGITS = 6


def render(report: BenchReport) -> str:
    """The document, indented, with a line break at its end."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": report.name,
        "setting": dict(report.setting),
        "machine": dict(report.machine),
        "remarks": list(report.remarks),
        "parts": [_part(part) for part in report.parts],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _part(part: BenchPart) -> dict[str, Any]:
    return {
        "key": part.key,
        "title": part.title,
        "note": part.note,
        "baseline": part.baseline,
        "rows": [_row(part, row) for row in part.rows],
    }


def _row(part: BenchPart, row: BenchRow) -> dict[str, Any]:
    spread = row.spread
    return {
        "name": row.name,
        "options": dict(row.options),
        "not_run": row.not_run,
        "samples_s": [round(sample, TIME_DIGITS) for sample in row.samples_s],
        "spread_s": None
        if spread is None
        else {key: _rounded(value) for key, value in dataclasses.asdict(spread).items()},
        "times_faster": _rounded(part.times_faster(row)),
        "figures": _figures(row.figures),
        "recordings": {name: _figures(figures) for name, figures in row.recordings.items()},
    }


def _figures(figures: Mapping[str, Figure]) -> dict[str, Figure]:
    return {key: _rounded(value) for key, value in figures.items()}


def _rounded(value: Figure) -> Figure:
    return round(value, TIME_DIGITS) if isinstance(value, float) else value
