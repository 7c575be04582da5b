"""The benchmarks of decode attention run, on tiny sizes, and check what they time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "kernels/bench"
SCRIPT = BENCH / "decode_attention.py"
DEVICE_SCRIPT = BENCH / "decode_attention_device.py"


def test_benchmark_when_tiny_then_every_variant_is_checked_and_written(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    sizes = "--rows 2 --shares 1 0.25 --entries 40 --layers 2 --repeats 2 --threads 1"
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *sizes.split(), "--json", str(figures)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    measurements = json.loads(figures.read_text())["measurements"]
    assert len(run.stdout.splitlines()) == 1 + len(measurements)
    for variant in ("sdpa float32", "torch float32"):
        first, second = (item for item in measurements if item["variant"] == variant)
        # 2 layers x 2 rows x 8 heads x 40 entries x 64 x keys and values x 4 bytes
        assert (first["read_bytes"], second["read_bytes"]) == (655_360, 163_840)
    assert all(item["error"] < 1e-5 and item["median_ms"] > 0 for item in measurements)


def test_device_benchmark_when_there_is_no_device_then_says_so_and_checks_on_the_cpu(
    tmp_path: Path,
) -> None:
    figures = tmp_path / "figures.json"
    run = subprocess.run(
        [sys.executable, str(DEVICE_SCRIPT), "--json", str(figures)],
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("CUDA: not run (no device).")
    found = json.loads(figures.read_text())
    assert found["targets_missed"] == "not run"
    variants = {(item["selection"], item["variant"]) for item in found["measurements"]}
    assert ("all entries", "sdpa") in variants
    for kind in ("six ranges", "head ranges", "indices"):
        assert {(kind, "ours"), (kind, "gather + sdpa"), (kind, "masked sdpa")} <= variants
    assert all(item["error"] < 1e-5 for item in found["measurements"])
