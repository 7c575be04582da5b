"""The report as one SVG: bars with their spread, or one figure against another. Plain SVG 1.1
with the reader's own fonts, so that it looks the same without a network."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

from murmur_cli.bench.record import BenchPart, BenchReport, BenchRow

WIDTH = 960
NAME_WIDTH = 330
BAR_WIDTH = 430
ROW_HEIGHT = 26
BAR_HEIGHT = 14
TITLE_HEIGHT = 44
SCATTER_HEIGHT = 320
MARGIN = 16
BAR_COLOUR, BASE_COLOUR, INK, PALE = "#4878a8", "#9aa5b1", "#222222", "#dddddd"


def render(report: BenchReport) -> str:
    """All parts below each other."""
    body: list[str] = []
    top = float(MARGIN)
    for part in report.parts:
        panel, height = _scatter(part, top) if part.scatter is not None else _bars(part, top)
        body += panel
        top += height + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{_number(top)}" '
        f'viewBox="0 0 {WIDTH} {_number(top)}" font-family="sans-serif" font-size="13">'
    )
    paper = f'<rect width="{WIDTH}" height="{_number(top)}" fill="#ffffff"/>'
    return "\n".join([head, paper, *body, "</svg>"]) + "\n"


def _bars(part: BenchPart, top: float) -> tuple[list[str], float]:
    """Median as a bar, quartiles as a thick line over it, the ends as a thin one."""
    unit = part.scale.per_second
    longest = max((row.spread.maximum for row in part.rows if row.spread), default=1.0)
    per_s = BAR_WIDTH / longest
    shapes = _title(part, top, f"{part.scale}; shorter is better")
    for index, row in enumerate(part.rows):
        y = top + TITLE_HEIGHT + index * ROW_HEIGHT
        middle = y + ROW_HEIGHT / 2
        shapes.append(_text(NAME_WIDTH - 10, middle + 4, row.name, anchor="end"))
        spread = row.spread
        if spread is None:
            why = f"not run: {row.not_run}" if row.not_run else "not timed: a part of the job only"
            shapes.append(_text(NAME_WIDTH, middle + 4, why))
            continue
        colour = BASE_COLOUR if row.name == part.baseline else BAR_COLOUR
        shapes.append(_bar(middle, spread.median * per_s, colour))
        shapes.append(_whisker(middle, spread.minimum * per_s, spread.maximum * per_s, 1))
        shapes.append(
            _whisker(middle, spread.lower_quartile * per_s, spread.upper_quartile * per_s, 3)
        )
        ratio = part.times_faster(row)
        label = f"{spread.median * unit:.2f} {part.scale}"
        label += "" if ratio is None else f" · {ratio:.2f}×"
        shapes.append(_text(NAME_WIDTH + spread.maximum * per_s + 8, middle + 4, label))
    return shapes, TITLE_HEIGHT + len(part.rows) * ROW_HEIGHT


def _scatter(part: BenchPart, top: float) -> tuple[list[str], float]:
    """One point a row, numbered as in the legend below."""
    assert part.scatter is not None, part.key
    right_column, up_column = part.scatter
    points = [
        (number, row, x, y)
        for number, row in enumerate(part.rows, start=1)
        if isinstance(x := row.figures.get(right_column.key), int | float)
        and isinstance(y := row.figures.get(up_column.key), int | float)
    ]
    shapes = _title(part, top, f"{up_column.title} (up) against {right_column.title} (right)")
    left, bottom = float(MARGIN + 60), top + TITLE_HEIGHT + SCATTER_HEIGHT - 30
    right, ceiling = float(WIDTH - MARGIN - 20), top + TITLE_HEIGHT
    x_axis = _Axis.over((x for _, _, x, _ in points), left, right)
    y_axis = _Axis.over((y for _, _, _, y in points), bottom, ceiling)
    for tick in x_axis.ticks:
        shapes.append(_line(x_axis.place(tick), bottom, x_axis.place(tick), ceiling))
        shapes.append(_text(x_axis.place(tick), bottom + 16, f"{tick:g}", anchor="middle"))
    for tick in y_axis.ticks:
        shapes.append(_line(left, y_axis.place(tick), right, y_axis.place(tick)))
        shapes.append(_text(left - 6, y_axis.place(tick) + 4, f"{tick:g}", anchor="end"))
    for number, row, x, y in points:
        shapes.append(_point(x_axis.place(x), y_axis.place(y), number, row, part.baseline))
    for number, row in enumerate(part.rows, start=1):
        y = top + TITLE_HEIGHT + SCATTER_HEIGHT + number * 18
        absent = "" if row.not_run is None else f" – not run: {row.not_run}"
        shapes.append(_text(left, y, f"{number}  {row.name}{absent}"))
    return shapes, TITLE_HEIGHT + SCATTER_HEIGHT + (len(part.rows) + 1) * 18


class _Axis:
    """Values to places on the paper, with round ticks."""

    def __init__(self, low: float, high: float, step: float, start: float, end: float) -> None:
        self._low, self._high, self._step = low, high, step
        self._start, self._end = start, end

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float) -> _Axis:
        """An axis that holds the values, about five ticks long."""
        known = list(values) or [0.0, 1.0]
        low, high = min(known), max(known)
        room = (high - low) or abs(high) or 1.0
        power = 10.0 ** math.floor(math.log10(room / 4))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= room / 4)
        return cls(
            math.floor(low / step) * step, math.ceil(high / step) * step or step, step, start, end
        )

    @property
    def ticks(self) -> list[float]:
        count = round((self._high - self._low) / self._step)
        return [round(self._low + index * self._step, 10) for index in range(count + 1)]

    def place(self, value: float) -> float:
        share = (value - self._low) / ((self._high - self._low) or 1.0)
        return self._start + share * (self._end - self._start)


def _title(part: BenchPart, top: float, unit: str) -> list[str]:
    title = _text(MARGIN, top + 16, part.title, weight="bold")
    return [title, _text(MARGIN, top + 33, unit, colour="#666666")]


def _bar(middle: float, length: float, colour: str) -> str:
    return (
        f'<rect x="{NAME_WIDTH}" y="{_number(middle - BAR_HEIGHT / 2)}" '
        f'width="{_number(length)}" height="{BAR_HEIGHT}" fill="{colour}"/>'
    )


def _whisker(middle: float, start: float, end: float, width: int) -> str:
    left, right = NAME_WIDTH + start, NAME_WIDTH + end
    return _line(left, middle, right, middle, colour=INK, width=width)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str = PALE, width: int = 1) -> str:
    return (
        f'<line x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}" '
        f'stroke="{colour}" stroke-width="{width}"/>'
    )


def _point(x: float, y: float, number: int, row: BenchRow, baseline: str) -> str:
    colour = BASE_COLOUR if row.name == baseline else BAR_COLOUR
    circle = f'<circle cx="{_number(x)}" cy="{_number(y)}" r="5" fill="{colour}"/>'
    return circle + _text(x + 8, y - 6, str(number))


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    colour: str = INK,
) -> str:
    return (
        f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{colour}">{escape(text)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
