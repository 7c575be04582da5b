"""results.jsonl as tables of Markdown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

from policies.attention_shape import OFFSETS
from policies.grid import VARIANTS
from policies.run_lines import Line, RunLines

NOT_RUN = "–"
WRONG = {"nano": "wrong tokens"}
SIZES = ("nodes", "in_largest", "largest", "small")
NEEDLE_BUDGETS = (16, 32, 64, 128)

Cell = Callable[[Line], str]


def tables(runs: RunLines) -> str:
    """Every table of every model; what was not run is a dash."""
    parts = [part for model in runs.models for part in _of_model(runs, model)]
    return "\n".join(parts).rstrip("\n") + "\n"


def _of_model(runs: RunLines, model: str) -> list[str]:
    wrong = WRONG.get(model, "WER")
    parts = [f"## {model}\n"]
    answers = runs.of_model(model, "answers")
    parts += _grid(
        f"One greedy answer, no guard: {wrong}, % (changed against full, %)", answers, _errors
    )
    lost = lost_recordings(answers)
    if lost:
        title = (
            f"The same without {', '.join(sorted(lost))}, which full attention loses: {wrong}, %"
        )
        parts += _grid(
            title, answers, partial(_errors_without, lost=lost, lengths=_lengths(answers))
        )
    if any("codes" in line["found"] for line in answers):
        needles = [line for line in answers if line["about"]["budget"] in (0, *NEEDLE_BUDGETS)]
        parts += _grid("Codes of seven digits found whole", needles, _codes)
    parts += _grid(
        f"Whole session with guards and second tries: {wrong}, % (changed against full, %)",
        runs.of_model(model, "transcripts"),
        _errors,
    )
    parts += _grid("Speech entries read in a step, summaries included", answers, _read)
    coverage = runs.of_model(model, "coverage")
    parts += _grid("Attention mass covered, % of that on speech", coverage, _covered)
    parts += _grid(
        "Step, times faster than full attention (CPU time)", runs.of_model(model, "steps"), _faster
    )
    for line in runs.of_model(model, "statistics"):
        parts += attention_tables(line["found"])
    for line in runs.of_model(model, "frontier")[-1:]:
        parts += _frontier(line["found"])
    for line in runs.of_model(model, "drift")[-1:]:
        parts += _drift(line["found"])
    return parts


def _grid(title: str, lines: list[Line], cell: Cell) -> list[str]:
    """A row a variant, a column a budget; full attention is the first row."""
    by_place = {(line["about"]["label"], line["about"]["budget"]): line["found"] for line in lines}
    budgets = sorted({budget for _, budget in by_place if budget})
    if not by_place:
        return []
    rows = [f"### {title}\n", "| policy | " + " | ".join(map(str, budgets)) + " |"]
    rows.append("|---|" + "---|" * len(budgets))
    full = by_place.get(("none", 0))
    if full is not None:
        rows.append(f"| full attention | {cell(full)} |" + " |" * (len(budgets) - 1))
    for variant in VARIANTS:
        found = [by_place.get((variant.label, budget)) for budget in budgets]
        if any(one is not None for one in found):
            cells = (NOT_RUN if one is None else cell(one) for one in found)
            rows.append(f"| {variant.label} | " + " | ".join(cells) + " |")
    return [*rows, ""]


def _errors(found: Line) -> str:
    text = f"{100 * found['errors'] / found['length']:.1f}"
    if found["full_length"]:
        text += f" ({100 * found['changed'] / found['full_length']:.1f})"
    return text


def lost_recordings(answers: list[Line]) -> frozenset[str]:
    """Recordings with more errors than words under full attention: a loop, or nothing heard."""
    full = [line["found"] for line in answers if line["about"]["policy"] == "none"]
    return frozenset(name for one in full for name, rate in one["rates"].items() if rate > 100)


def _lengths(answers: list[Line]) -> dict[str, int]:
    """Words of reference by recording."""
    return next(line["found"]["lengths"] for line in answers if line["about"]["policy"] == "none")


def _errors_without(found: Line, lost: frozenset[str], lengths: dict[str, int]) -> str:
    return f"{percent_without(found, lost, lengths):.1f}"


def percent_without(found: Line, lost: frozenset[str], lengths: dict[str, int]) -> float:
    """Errors of the other recordings; their rates are rounded, their counts are whole."""
    kept = {name: rate for name, rate in found["rates"].items() if name not in lost}
    errors: int = sum(round(rate * lengths[name] / 100) for name, rate in kept.items())
    words = sum(lengths[name] for name in kept)
    return 100 * errors / words


def _codes(found: Line) -> str:
    return f"{found['codes_found']} of {found['codes']}"


def _read(found: Line) -> str:
    return f"{found['entries_read']:.0f}"


def _covered(found: Line) -> str:
    return f"{100 * found['covered']:.1f}"


def _faster(found: Line) -> str:
    return f"{found['times_faster']:.2f}"


# --- attention ----------------------------------------------------------------------------------


def concentrated(by_head: dict[str, list[float]]) -> list[int]:
    """Numbers of the third of the heads with the lowest entropy."""
    order = sorted(range(len(by_head["entropy"])), key=lambda head: by_head["entropy"][head])
    return order[: max(1, len(order) // 3)]


def attention_tables(found: dict[str, Any]) -> list[str]:
    """Shape of the attention, by group of heads and by layer."""
    by_head = found["by_head"]
    third = set(concentrated(by_head))
    everyone = range(len(by_head["entropy"]))
    groups = {
        "all heads": list(everyone),
        "third with the lowest entropy": sorted(third),
        "other heads": [head for head in everyone if head not in third],
    }
    names = {
        "entropy (0 one entry, 1 all alike)": "entropy",
        "mass on speech": "speech_mass",
        "top-64 mass outside the dominant band": "outside_band",
        "share of entries that holds 99 %": "share_99",
        "entries that the peak moves in a step (median)": "peak_move",
        **{f"Jaccard of top-64 sets, {offset} apart": f"jaccard_{offset}" for offset in OFFSETS},
    }
    rows = ["### Attention under full attention, means over heads and steps\n"]
    rows += ["| | " + " | ".join(groups) + " |", "|---|" + "---|" * len(groups)]
    for title, name in names.items():
        digits = 0 if name == "peak_move" else 2
        means = (mean(by_head[name][head] for head in heads) for heads in groups.values())
        rows.append(f"| {title} | " + " | ".join(f"{one:.{digits}f}" for one in means) + " |")
    layers = [layer for layer, _ in found["heads"]]
    rows += ["", "### Share of the speech entries that holds 99 % of the mass, %, by layer\n"]
    numbers = sorted(set(layers))
    rows += ["| layer | " + " | ".join(map(str, numbers)) + " |", "|---|" + "---|" * len(numbers)]
    alone = [
        mean(share for share, of in zip(by_head["share_99"], layers, strict=True) if of == layer)
        for layer in numbers
    ]
    for title, shares in (
        ("mean of its heads", alone),
        ("heads averaged", found["layer_share_99"]),
    ):
        rows.append(f"| {title} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")
    return [*rows, ""]


def _frontier(found: dict[str, Any]) -> list[str]:
    rows = [f"### Active nodes of c3 at 256 while {found['recording']} is decoded\n"]
    rows += ["| step | nodes | entries in the ten largest | largest | nodes of 4 or fewer |"]
    rows += ["|---|---|---|---|---|"]
    for look in found["looks"]:
        cells = (look["step"], *(round(look[name]) for name in SIZES))
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return [*rows, ""]


def _drift(found: dict[str, Any]) -> list[str]:
    rows = [f"### Drift: {found['recording']} under {found['label']} at {found['budget']}\n"]
    for title, name in (("full attention", "full"), ("the policy", "own")):
        one = found[name]
        ended = "" if one["ended"] else ", cut at the limit"
        rows += [f"{title} ({one['tokens']} tokens{ended}):\n", f"> {one['text']}\n"]
    return rows
