"""The pictures of a sweep as matplotlib figures; no window system, no state shared with others."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from murmur_cli.sweeps.grid import SweepSetting
from murmur_cli.sweeps.point_labels import label_points
from murmur_cli.sweeps.recommendation import METRIC_NAMES
from murmur_cli.sweeps.results import SweepResult
from murmur_cli.sweeps.summary import DISAGREEMENT, SettingSummary, comparable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES, HEIGHT_INCHES = 9.0, 6.0
INCHES_PER_BAR = 0.34
DOTS_PER_INCH = 150
PALE, GREY = "#bbbbbb", "#777777"
CHOSEN = "recommended"
# Told apart by people who do not see all colours: Okabe and Ito's set.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
MARKERS = "osD^vPX*"
BESIDE = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False}
"""Legends stand where no data can be."""
ROOM = 1.1
"""Axes that begin at 0 end this far beyond the greatest value."""


def figures_of(result: SweepResult) -> dict[str, Figure]:
    """Pictures by name. Settings without any result are left out."""
    shown = [summary for summary in result.summaries if summary.done]
    if not shown:
        return {}
    return {
        "curves": curves(result, shown),
        "pareto": pareto(result, shown),
        "stages": stages(result, shown),
    }


def rendered(figure: Figure, kind: str) -> bytes:
    """A figure as 'png' or 'svg'; equal figures give equal bytes."""
    import matplotlib

    data = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "murmur", "svg.fonttype": "path"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(data, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return data.getvalue()


def curves(result: SweepResult, shown: Sequence[SettingSummary]) -> Figure:
    """Accuracy above latency, over the size of chunks or over what is read of the KV cache."""
    figure = _figure(WIDTH_INCHES, HEIGHT_INCHES)
    above, below = figure.subplots(2, 1, sharex=True)
    places = {size: at for at, size in enumerate(_sizes(shown))}
    for number, (name, line) in enumerate(_series(result, shown).items()):
        if result.by_size:
            across = [float(places[one.setting.size.label]) for one in line]
        else:
            line = sorted(line, key=lambda one: one.share_read or 0.0)
            across = [100 * (one.share_read or 0.0) for one in line]
        style = {**_look(number), "linestyle": _dashes(number), "label": name}
        errors = [_percent(result, one) for one in line]
        above.plot(across, errors, **style)
        below.plot(across, [one.wall_s for one in line], **style)
    above.set_ylabel(_accuracy_title(result))
    below.set_ylabel("time, s")
    below.set_ylim(0, ROOM * max(one.wall_s for one in shown) or None)
    if result.by_size:
        below.set_xticks(list(places.values()), list(places))
        below.set_xlabel("longest chunk, s")
    else:
        below.set_xlabel("KV entries read, % of full attention")
    above.set_title(result.title)
    above.legend(**BESIDE)
    for axes in (above, below):
        _add_grid(axes)
    return figure


def pareto(result: SweepResult, shown: Sequence[SettingSummary]) -> Figure:
    """Accuracy against latency; the line joins settings that no other beats in both."""
    figure = _figure(WIDTH_INCHES, HEIGHT_INCHES)
    axes: Axes = figure.subplots()
    for number, (name, line) in enumerate(_series(result, shown).items()):
        times, errors = [one.wall_s for one in line], [_percent(result, one) for one in line]
        axes.scatter(times, errors, **_look(number), label=name)
    front = front_of(result, shown)
    axes.plot(
        [one.wall_s for one in front],
        [_percent(result, one) for one in front],
        color=GREY,
        zorder=0,
        label="Pareto front",
    )
    chosen = result.recommendation
    if chosen is not None:
        axes.scatter(
            [chosen.summary.wall_s],
            [_percent(result, chosen.summary)],
            s=160,
            facecolors="none",
            edgecolors="#000000",
            label=CHOSEN,
        )
    axes.set_xlim(0, ROOM * max(one.wall_s for one in shown) or None)
    axes.set_xlabel("time, s")
    axes.set_ylabel(_accuracy_title(result))
    _add_grid(axes)
    axes.legend(**BESIDE)
    name, labels = _labels(result, shown)
    axes.set_title(f"Accuracy against time; lower left is better{name}")
    important = [chosen.summary] if chosen is not None else []
    places: dict[tuple[float, float], list[str]] = {}
    for one in (*important, *front, *shown):
        text = labels[one.setting]
        if text and one.percent(result.metric) is not None:
            places.setdefault((one.wall_s, _percent(result, one)), []).append(text)
    label_points(
        axes, [(place, ", ".join(dict.fromkeys(texts))) for place, texts in places.items()]
    )
    return figure


def stages(result: SweepResult, shown: Sequence[SettingSummary]) -> Figure:
    """Where the time goes: a bar a setting, its stages side by side."""
    height = max(HEIGHT_INCHES / 2, 1.6 + INCHES_PER_BAR * len(shown))
    figure = _figure(WIDTH_INCHES, height)
    axes: Axes = figure.subplots()
    labels = [_bar_label(result, one) for one in shown]
    places = list(range(len(shown)))
    left = [0.0] * len(shown)
    names = dict.fromkeys(name for one in shown for name in one.stages_s)
    for number, name in enumerate(names):
        widths = [one.stages_s.get(name, 0.0) for one in shown]
        axes.barh(places, widths, left=left, color=_colour(number), label=name)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.set_yticks(places, labels)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("time, s")
    axes.set_title("Time by stage")
    axes.legend(**BESIDE)
    return figure


def front_of(result: SweepResult, shown: Sequence[SettingSummary]) -> list[SettingSummary]:
    """Settings that compare and that no other beats in time and accuracy, the fastest first."""
    front: list[SettingSummary] = []
    for one in sorted(comparable(shown), key=lambda one: (one.wall_s, _percent(result, one))):
        if not front or _percent(result, one) < _percent(result, front[-1]):
            front.append(one)
    return front


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _add_grid(axes: Axes) -> None:
    axes.set_axisbelow(True)
    axes.grid(visible=True, color=PALE, linewidth=0.5)


def _series(
    result: SweepResult, shown: Sequence[SettingSummary]
) -> dict[str, list[SettingSummary]]:
    """Settings that are one line of a picture."""
    several_models = len({one.setting.model for one in shown}) > 1
    several_sizes = len({one.setting.size for one in shown}) > 1
    found: dict[str, list[SettingSummary]] = {}
    for one in shown:
        setting = one.setting
        parts = [setting.model] if several_models else []
        if result.by_size:
            parts.append(setting.policy.label)
        else:
            parts.append(setting.policy.name)
            parts += [f"chunk {setting.size.label}"] if several_sizes else []
        found.setdefault(", ".join(parts), []).append(one)
    return found


def _labels(
    result: SweepResult, shown: Sequence[SettingSummary]
) -> tuple[str, dict[SweepSetting, str]]:
    """What points of a line differ in, for the title, and the text of each."""
    settings = [one.setting for one in shown]
    if result.by_size:
        return " (labels: chunk)", {one: one.size.label for one in settings}
    keys = {key for one in settings for key, _ in one.policy.options}
    if len(keys) != 1:
        return "", {one: one.policy.variant for one in settings}
    texts = {one: "".join(value for _, value in one.policy.options) for one in settings}
    return f" (labels: {keys.pop()})", texts


def _bar_label(result: SweepResult, one: SettingSummary) -> str:
    settings = [summary.setting for summary in result.summaries]
    parts = [one.setting.model] if len({each.model for each in settings}) > 1 else []
    if result.by_size or len({each.size for each in settings}) > 1:
        parts.append(one.setting.size.label)
    if len({each.policy for each in settings}) > 1:
        parts.append(one.setting.policy.label)
    return ", ".join(parts)


def _sizes(shown: Sequence[SettingSummary]) -> list[str]:
    sizes = {one.setting.size for one in shown}
    return [size.label for size in sorted(sizes, key=lambda size: size.order)]


def _percent(result: SweepResult, one: SettingSummary) -> float:
    """Not a number where there is none, which matplotlib leaves out."""
    percent = one.percent(result.metric)
    return float("nan") if percent is None else percent


def _accuracy_title(result: SweepResult) -> str:
    if result.metric == DISAGREEMENT:
        than = "the longest chunk" if result.by_size else "full attention"
        return f"words that differ from {than}, %"
    return f"{METRIC_NAMES[result.metric]}, %"


def _look(number: int) -> dict[str, Any]:
    """Colour and marker of a line; both repeat, but not together."""
    return {"color": _colour(number), "marker": MARKERS[(number + _round(number)) % len(MARKERS)]}


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _dashes(number: int) -> str:
    return ("-", "--", ":", "-.")[_round(number) % 4]


def _round(number: int) -> int:
    return number // len(COLOURS)
