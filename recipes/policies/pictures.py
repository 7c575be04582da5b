"""Pictures of results.jsonl as SVG."""

from __future__ import annotations

from statistics import mean
from typing import TYPE_CHECKING, Any

from murmur_cli.sweeps.figures import COLOURS, MARKERS, PALE, rendered
from policies.attention_shape import OFFSETS
from policies.grid import VARIANTS
from policies.run_lines import Line, RunLines
from policies.tables import WRONG, concentrated, lost_recordings, percent_without

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_WRONG = 150.0
"""The axis ends here: what loops is as wrong as its limit of tokens allows."""


def pictures(runs: RunLines) -> dict[str, bytes]:
    """Name of a file -> its content, for all that was run."""
    found: dict[str, Figure] = {}
    for model in runs.models:
        answers = runs.of_model(model, "answers")
        coverage = runs.of_model(model, "coverage")
        if answers:
            found[f"{model}-errors"] = errors_picture(model, answers)
        if answers and coverage:
            found[f"{model}-coverage"] = coverage_picture(model, answers, coverage)
        for line in runs.of_model(model, "statistics"):
            found[f"{model}-attention"] = attention_picture(model, line["found"])
        for line in runs.of_model(model, "drift")[-1:]:
            found[f"{model}-drift"] = drift_picture(line["found"])
    return {f"{name}.svg": rendered(figure, "svg") for name, figure in found.items()}


def errors_picture(model: str, answers: list[Line]) -> Figure:
    """Errors over the entries that a step reads, of recordings that full attention can do."""
    figure = _figure(9.5, 5.5)
    axes = figure.subplots()
    lost = lost_recordings(answers)
    full = next(line["found"] for line in answers if line["about"]["policy"] == "none")

    def percent(found: Line) -> float:
        return min(MOST_WRONG, percent_without(found, lost, full["lengths"]))

    for label, points in _series(answers).items():
        xs = [one["entries_read"] for one in points]
        axes.plot(xs, [percent(one) for one in points], label=label, **_style(label))
    level = percent(full)
    axes.axhline(level, color="#000000", linestyle="--", linewidth=1, label="full attention")
    title = WRONG.get(model, "WER")
    axes.set(xlabel="speech entries read in a step", ylabel=f"{title}, %")
    without = f", without {', '.join(sorted(lost))}" if lost else ""
    axes.set_title(f"{model}: one greedy answer to each window, no guard{without}")
    _log_entries(axes)
    _legend(axes)
    return figure


def coverage_picture(model: str, answers: list[Line], coverage: list[Line]) -> Figure:
    """Mass that is not covered, over the entries that a step reads."""
    read = {
        (line["about"]["label"], line["about"]["budget"]): line["found"]["entries_read"]
        for line in answers
    }
    figure = _figure(9.5, 5.5)
    axes = figure.subplots()
    for label, points in _series(coverage).items():
        pairs = [
            (read[label, one["budget"]], 100 * (1 - one["covered"]))
            for one in points
            if (label, one["budget"]) in read
        ]
        axes.plot(
            *zip(*sorted(pairs), strict=True), label=label, **_style(label)
        ) if pairs else None
    axes.set_ylim(bottom=0)
    axes.set(xlabel="speech entries read in a step", ylabel="attention mass not covered, %")
    axes.set_title(f"{model}: same tokens under every policy")
    _log_entries(axes)
    _legend(axes)
    return figure


def attention_picture(model: str, found: dict[str, Any]) -> Figure:
    """Heads by entropy and mass, life of the top sets, entries that hold 99 % by layer."""
    figure = _figure(12, 4)
    left, middle, right = figure.subplots(1, 3)
    by_head = found["by_head"]
    layers = [layer for layer, _ in found["heads"]]
    for layer in sorted(set(layers)):
        own = [head for head, of in enumerate(layers) if of == layer]
        left.scatter(
            [by_head["entropy"][head] for head in own],
            [by_head["outside_band"][head] for head in own],
            label=f"layer {layer}",
            color=COLOURS[layer % len(COLOURS)],
            marker=MARKERS[layer % len(MARKERS)],
        )
    left.set(xlabel="entropy, 1 = all entries alike", ylabel="top-64 mass outside the band")
    left.legend(fontsize=8)
    third = set(concentrated(by_head))
    groups = {
        "third with the lowest entropy": [head in third for head in range(len(layers))],
        "other heads": [head not in third for head in range(len(layers))],
    }
    for number, (label, chosen) in enumerate(groups.items()):
        values = [
            mean(v for v, is_in in zip(by_head[f"jaccard_{k}"], chosen, strict=True) if is_in)
            for k in OFFSETS
        ]
        middle.plot(OFFSETS, values, label=label, color=COLOURS[number], marker=MARKERS[number])
    middle.set(xlabel="steps apart", ylabel="Jaccard of top-64 sets", ylim=(0, 1))
    middle.set_xticks(OFFSETS)
    middle.legend(fontsize=8)
    shares = [100 * share for share in found["layer_share_99"]]
    right.bar(range(len(shares)), shares, color=COLOURS[0])
    right.set(xlabel="layer, heads averaged", ylabel="entries that hold 99 % of the mass, %")
    right.set_xticks(range(len(shares)))
    figure.suptitle(f"{model}: attention over the speech")
    return figure


def drift_picture(found: dict[str, Any]) -> Figure:
    """Where the alignment heads read at each token."""
    figure = _figure(8, 4)
    axes = figure.subplots()
    policy = f"{found['label']}, budget {found['budget']}"
    for number, (label, name) in enumerate((("full attention", "full"), (policy, "own"))):
        places = found[name]["places_s"]
        axes.plot(range(len(places)), places, label=label, color=COLOURS[number], linewidth=1.2)
    axes.set(xlabel="output token", ylabel="place in the window, s")
    axes.set_title(f"{found['recording']}: where the alignment heads read")
    axes.grid(visible=True, color=PALE, linewidth=0.5)
    axes.legend()
    return figure


def _series(lines: list[Line]) -> dict[str, list[Line]]:
    """Label of a variant -> its figures with their budgets, by budget; without full attention."""
    found: dict[str, list[Line]] = {}
    for line in sorted(lines, key=lambda line: int(line["about"]["budget"])):
        about = line["about"]
        if about["policy"] != "none":
            one = {**line["found"], "budget": about["budget"]}
            found.setdefault(about["label"], []).append(one)
    order = [variant.label for variant in VARIANTS]
    return dict(sorted(found.items(), key=lambda item: order.index(item[0])))


def _style(label: str) -> dict[str, Any]:
    """Colour and marker of a variant, the same in all pictures; the second round is dotted."""
    number = [variant.label for variant in VARIANTS].index(label)
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": ("-", ":", "--")[number // len(COLOURS)],
        "markersize": 5,
        "linewidth": 1.2,
    }


def _log_entries(axes: Axes) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda value, place: f"{value:g}")
    axes.grid(visible=True, color=PALE, linewidth=0.5)


def _legend(axes: Axes) -> None:
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
