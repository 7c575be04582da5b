"""Tables and pictures of made-up runs; which of them is the drift."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from policies.attention_shape import OFFSETS
from policies.drift import worst
from policies.grid import budgeted
from policies.report import write_report
from policies.run_lines import RunLines

CONTENT = "c" * 64


def about(part: str, label: str, budget: int, policy: str) -> dict[str, Any]:
    return {
        "model": "whisper-base",
        "part": part,
        "label": label,
        "budget": budget,
        "policy": policy,
        "options": {},
    }


def answer(errors: int, changed: int, read: float, **rates: float) -> dict[str, Any]:
    full_length = 90 if changed else 0
    found = {"errors": errors, "length": 100, "changed": changed, "full_length": full_length}
    lengths = {"a": 60, "b": 40}
    return {**found, "entries_read": read, "rates": rates, "lengths": lengths}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    runs = RunLines(tmp_path / "results.jsonl")
    for label, budget, policy, found in (
        ("none", 0, "none", answer(40, 0, 1500, a=30.0, b=120.0)),
        ("c3", 256, "c3", answer(50, 9, 256, a=104.0, b=130.0)),
        ("c3", 64, "c3", answer(60, 18, 64, a=100.0, b=150.0)),
        ("quest", 256, "quest", answer(45, 45, 256, a=181.5, b=10.0)),
        ("snapkv", 64, "snapkv", answer(150, 90, 64, a=300.0, b=300.0)),
    ):
        runs.add(about("answers", label, budget, policy), CONTENT, found)
    runs.add(about("coverage", "c3", 256, "c3"), CONTENT, {"covered": 0.876})
    heads = [[0, 0], [0, 1], [1, 0]]
    shape = {name: [0.2, 0.4, 0.9] for name in ("entropy", "speech_mass", "outside_band")}
    shape |= {"share_99": [0.1, 0.3, 0.5], "peak_move": [1, 2, 3]}
    shape |= {f"jaccard_{offset}": [0.5, 0.4, 0.3] for offset in OFFSETS}
    found = {"heads": heads, "by_head": shape, "layer_share_99": [0.25, 0.5]}
    runs.add({"model": "whisper-base", "part": "statistics"}, CONTENT, found)
    return runs.path


def test_report_when_runs_are_there_then_tables_and_pictures(results: Path) -> None:
    written = {path.name for path in write_report(results)}
    names = ("errors", "coverage", "attention")
    assert written == {"table.md", *(f"whisper-base-{name}.svg" for name in names)}
    rows = (results.parent / "table.md").read_text().splitlines()
    assert "| policy | 64 | 256 |" in rows
    assert "| full attention | 40.0 | |" in rows
    assert "| c3 | 60.0 (20.0) | 50.0 (10.0) |" in rows
    assert "| quest | – | 45.0 (50.0) |" in rows
    assert "### The same without b, which full attention loses: WER, %" in rows
    assert "| quest | – | 181.7 |" in rows  # 109 of 60
    assert "| c3 | 87.6 |" in rows
    assert "| mean of its heads | 20.0 | 50.0 |" in rows
    assert "| heads averaged | 25.0 | 50.0 |" in rows
    assert "| Jaccard of top-64 sets, 1 apart | 0.40 | 0.50 | 0.35 |" in rows


def test_report_when_written_again_then_the_same_bytes(results: Path) -> None:
    first = {path.name: path.read_bytes() for path in write_report(results)}
    assert {path.name: path.read_bytes() for path in write_report(results)} == first


def test_drift_when_full_attention_fails_too_or_nothing_is_retrieved_then_another(
    results: Path,
) -> None:
    found = worst(RunLines(results), "whisper-base")
    assert found is not None
    assert (found[0]["about"]["label"], found[1]) == ("quest", "a")


def test_labels_of_the_runs_are_those_of_the_grid() -> None:
    from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
    from policies.grid import VARIANTS

    c3 = next(one for one in VARIANTS if one.label == "c3")
    setting = budgeted(c3, 64, WHISPER_RATES)
    assert setting is not None
    assert setting.label == "c3:budget=64"
