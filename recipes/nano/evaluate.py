"""Error rates of the committed checkpoint on held-out meetings, and its picture.

Writes results.json and picture.svg beside this file; README quotes them.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nano.attention_heads import AllHeads, HeadView, head_views, speech_view
from nano.decoding import decode, held_out, mean_errors
from nano.family import CHECKPOINT, Nano
from nano.language import FRAMES_PER_S, MAX_FRAMES
from nano.train import LOG

LENGTHS = {150: 20, 450: 10, 1000: 6, MAX_FRAMES: 4}
"""Frames of a meeting -> how many meetings."""

HEAD_MEETINGS = 2
RESULTS = Path(__file__).parent / "results.json"
PICTURE = Path(__file__).parent / "picture.svg"


def measured_errors(nano: Nano, lengths: dict[int, int]) -> list[dict[str, Any]]:
    """A row for each length, with full attention."""
    rows = []
    for frames, count in lengths.items():
        meetings = held_out(frames, count)
        errors = mean_errors(meetings, decode(nano, meetings))
        row = {"frames": frames, "seconds": frames / FRAMES_PER_S, "meetings": count}
        rows.append({**row, **asdict(errors), "percent": round(errors.percent, 3)})
        print(rows[-1], flush=True)
    return rows


def draw(path: Path, log: Path, view: np.ndarray, best: HeadView) -> None:
    """Training on the left, the attention of a head over a chunk on the right."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with log.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["stage"] != "reader"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for stage in sorted({int(row["stage"]) for row in rows}):
        points = [row for row in rows if int(row["stage"]) == stage]
        left.plot(
            [float(row["cpu_s"]) / 60 for row in points],
            [100 * float(row["running_error"]) for row in points],
            label=_lengths(sorted({int(row["frames"]) for row in points})),
        )
    left.set(xlabel="minutes of one core", ylabel="wrong tokens, %, each fed the past")
    left.set_yscale("log")
    left.legend(fontsize=8, loc="lower left")
    right.imshow(view**0.5, aspect="auto", cmap="Greys", rasterized=True)
    right.set_title(
        f"layer {best.layer}, head {best.head}: probabilities over the speech (square root)",
        fontsize=9,
    )
    right.set(xlabel="speech token", ylabel="output token")
    figure.savefig(path, dpi=90)


def _lengths(frames: list[int]) -> str:
    """What a stage's excerpts are called."""
    return f"{frames[0]} frames" if len(frames) == 1 else f"{frames[0]} to {frames[-1]} frames"


def main() -> None:
    """The command."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    arguments.add_argument("--log", type=Path, default=LOG)
    arguments.add_argument("--results", type=Path, default=RESULTS)
    arguments.add_argument("--picture", type=Path, default=PICTURE)
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    errors = measured_errors(Nano.load(chosen.checkpoint), LENGTHS)
    nano = AllHeads.load(chosen.checkpoint)
    views = head_views(nano, held_out(MAX_FRAMES, HEAD_MEETINGS))
    results = {"errors": errors, "heads": [asdict(view) for view in views]}
    chosen.results.write_text(json.dumps(results, indent=1) + "\n")
    place = nano.probe_heads.index((views[0].layer, views[0].head))
    seen = speech_view(nano, held_out(MAX_FRAMES, 1)[0])[place]
    draw(chosen.picture, chosen.log, seen, views[0])


if __name__ == "__main__":
    main()
