"""What a measurement leaves: parts with rows, each row with its repeats and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from murmur_cli.bench.spread import Spread, spread_of, times_faster

Figure = float | int | str | None


class Scale(StrEnum):
    """Unit in which the times of a part are shown; they are kept in seconds."""

    SECONDS = "s"
    MILLISECONDS = "ms"

    @property
    def per_second(self) -> float:
        """Of this unit."""
        return 1.0 if self is Scale.SECONDS else 1000.0


@dataclass(frozen=True, slots=True)
class Column:
    """A figure shown beside the time. `divisor` shrinks it to the unit that the title names."""

    key: str
    title: str
    digits: int = 1
    divisor: float = 1.0

    def text(self, value: Figure) -> str:
        """The figure as it is shown; '–' if there is none."""
        if value is None:
            return "–"
        return value if isinstance(value, str) else f"{value / self.divisor:,.{self.digits}f}"


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One contender. Either it was measured, or `not_run` says why not.

    Attributes:
        name: of the row.
        samples_s: its repeats in seconds, in the order of the rounds.
        figures: of all recordings.
        options: what the contender was given.
        not_run: why not.
        recordings: figures of each, by name; empty if there is one only.
    """

    name: str
    samples_s: tuple[float, ...] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    options: Mapping[str, Figure] = field(default_factory=dict)
    not_run: str | None = None
    recordings: Mapping[str, Mapping[str, Figure]] = field(default_factory=dict)

    @property
    def spread(self) -> Spread | None:
        """Of the repeats; None if there is none."""
        return spread_of(self.samples_s) if self.samples_s else None


@dataclass(frozen=True, slots=True)
class Detail:
    """A figure of each recording by itself; `truth`, if there is one, is the same for all rows."""

    shown: Column
    truth: Column | None = None


@dataclass(frozen=True, slots=True)
class BenchPart:
    """Rows measured together, in alternation.

    Attributes:
        key: names the part in files.
        title: one line.
        note: what was measured, and how.
        rows: the contenders.
        columns: figures shown.
        baseline: row that the others are compared with.
        scale: unit of the shown times.
        scatter: the figures (right, up) of a picture that sets one against the other; None for
            bars.
        details: figures shown of each recording by itself, where there are several.
    """

    key: str
    title: str
    note: str
    rows: tuple[BenchRow, ...]
    columns: tuple[Column, ...]
    baseline: str
    scale: Scale = Scale.SECONDS
    scatter: tuple[Column, Column] | None = None
    details: tuple[Detail, ...] = ()

    def times_faster(self, row: BenchRow) -> float | None:
        """Than the baseline; None where one of the two was not measured."""
        base = next((other for other in self.rows if other.name == self.baseline), None)
        if base is None or not base.samples_s or not row.samples_s:
            return None
        return times_faster(base.samples_s, row.samples_s)


@dataclass(frozen=True, slots=True)
class BenchReport:
    """One run of a recipe or of `murmur bench`.

    Attributes:
        name: of the recipe, or 'engine'.
        setting: what was asked for, in plain values.
        machine: device, threads, versions, commit; holds no path and no host's name.
        parts: what was measured.
        remarks: what a reader must know to read the figures.
    """

    name: str
    setting: Mapping[str, object]
    machine: Mapping[str, object]
    parts: tuple[BenchPart, ...]
    remarks: tuple[str, ...] = ()
