"""The figures of a sweep as rows of text and as plain values."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from murmur_cli import __version__
from murmur_cli.sweeps.recommendation import METRIC_NAMES
from murmur_cli.sweeps.results import SweepResult
from murmur_cli.sweeps.summary import SettingSummary

SCHEMA_VERSION = "1.0"
METRICS = ("wer", "cpwer", "tcpwer", "orcwer", "dicpwer", "der", "jer")
NOT_THERE = "-"


def metrics_of(result: SweepResult) -> tuple[str, ...]:
    """Metrics that some setting has, in the order of reports."""
    return tuple(
        name for name in METRICS if any(name in summary.counts for summary in result.summaries)
    )


def header(result: SweepResult) -> tuple[str, ...]:
    """Titles of the columns."""
    names = [METRIC_NAMES[name] for name in metrics_of(result)] or ["differs %"]
    figures = ("time s", "× real time", "peak MB")
    device = ("device MB",) if _on_device(result) else ()
    return (*_changing(result), *names, *figures, *device, "KV entries read", "of full", "failed")


def cells(result: SweepResult, summary: SettingSummary) -> tuple[str, ...]:
    """One row."""
    metrics = metrics_of(result)
    if metrics:
        errors = [_number(summary.percent(name), 2) for name in metrics]
    else:
        errors = [_number(summary.percent("disagreement"), 2)]
    done = bool(summary.done)
    speed = summary.audio_s / summary.wall_s if done and summary.wall_s else None
    device = [_number(summary.device_peak_bytes, 0, 1e6)] if _on_device(result) else []
    return (
        *_changing(result, summary),
        *errors,
        _number(summary.wall_s if done else None, 2),
        _number(speed, 1),
        _number(summary.peak_bytes if done else None, 0, 1e6),
        *device,
        _number(summary.entries_read if done else None, 0),
        _number(summary.share_read, 3),
        f"{len(summary.failed)} of {len(summary.results)}" if summary.failed else "",
    )


def sweep_csv(result: SweepResult) -> str:
    """The table with one row for each setting, figures in full."""
    text = io.StringIO()
    rows = [_row(result, summary) for summary in result.summaries]
    writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().replace("\r\n", "\n")


def sweep_json(result: SweepResult) -> str:
    """Everything, with counts, as strict JSON."""
    chosen = result.recommendation
    document = {
        "schema_version": SCHEMA_VERSION,
        "murmur": __version__,
        "title": result.title,
        "about": list(result.about),
        "metric": result.metric,
        "within_points": result.within,
        "recommendation": None
        if chosen is None
        else {"text": chosen.text, "points": round(chosen.points, 4), **_point(chosen.summary)},
        "settings": [_document(summary) for summary in result.summaries],
        "failures": result.failures,
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _changing(result: SweepResult, summary: SettingSummary | None = None) -> tuple[str, ...]:
    """What names a row: always what the sweep varies, the rest where it changes. Titles without
    a summary."""
    settings = [one.setting for one in result.summaries]
    names = {
        "model": len({one.model for one in settings}) > 1,
        "chunk": result.by_size or len({one.size for one in settings}) > 1,
        "policy": not result.by_size or len({one.policy for one in settings}) > 1,
    }
    if summary is None:
        return tuple(name for name, shown in names.items() if shown)
    point = _point(summary)
    return tuple(str(point[name]) for name, shown in names.items() if shown)


def _point(summary: SettingSummary) -> dict[str, Any]:
    setting = summary.setting
    return {"model": setting.model, "chunk": setting.size.label, "policy": setting.policy.label}


def _row(result: SweepResult, summary: SettingSummary) -> dict[str, Any]:
    percents = {f"{name}_percent": summary.percent(name) for name in metrics_of(result)}
    return {
        **_point(summary),
        **percents,
        "disagreement_percent": summary.percent("disagreement"),
        "audio_s": summary.audio_s,
        "wall_s": summary.wall_s,
        "cpu_s": summary.cpu_s,
        **{f"{name.replace(' ', '_')}_s": wall_s for name, wall_s in summary.stages_s.items()},
        "peak_bytes": summary.peak_bytes,
        "device_peak_bytes": summary.device_peak_bytes,
        "entries_read": summary.entries_read,
        "share_read": summary.share_read,
        "failed": len(summary.failed),
        "recordings": len(summary.results),
    }


def _document(summary: SettingSummary) -> dict[str, Any]:
    return {
        **_point(summary),
        "metrics": {
            name: {"percent": counts.percent, **dataclasses.asdict(counts)}
            for name, counts in summary.counts.items()
        },
        "disagreement": None
        if summary.disagreement is None
        else {"percent": summary.disagreement.percent, **dataclasses.asdict(summary.disagreement)},
        "audio_s": summary.audio_s,
        "wall_s": summary.wall_s,
        "cpu_s": summary.cpu_s,
        "stages_s": summary.stages_s,
        "peak_bytes": summary.peak_bytes,
        "device_peak_bytes": summary.device_peak_bytes,
        "kv": dataclasses.asdict(summary.kv),
        "recordings": [
            {
                "session": result.session,
                "run": result.repeats[0].run if result.repeats else None,
                "wall_s": [line.wall_s for line in result.repeats],
                "percent": {name: counts.percent for name, counts in result.counts.items()},
                "failure": result.failure,
            }
            for result in summary.results
        ],
    }


def _on_device(result: SweepResult) -> bool:
    return any(summary.device_peak_bytes is not None for summary in result.summaries)


def _number(value: float | None, digits: int, divisor: float = 1.0) -> str:
    return NOT_THERE if value is None else f"{value / divisor:.{digits}f}"


def rows(result: SweepResult) -> Iterator[Sequence[str]]:
    """All rows, in the order of the grid."""
    return (cells(result, summary) for summary in result.summaries)
