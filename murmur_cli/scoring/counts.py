"""Errors and what they are counted against. Counts travel and add up; percents are printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WordCounts:
    """Edit operations that turn a reference of `length` words into the hypothesis."""

    insertions: int = 0
    deletions: int = 0
    substitutions: int = 0
    length: int = 0

    def __add__(self, other: WordCounts) -> WordCounts:
        return WordCounts(
            self.insertions + other.insertions,
            self.deletions + other.deletions,
            self.substitutions + other.substitutions,
            self.length + other.length,
        )

    @property
    def errors(self) -> int:
        """All operations."""
        return self.insertions + self.deletions + self.substitutions

    @property
    def percent(self) -> float | None:
        """Errors of 100 words of reference, above 100 too; None without words."""
        return 100 * self.errors / self.length if self.length else None


@dataclass(frozen=True, slots=True)
class TimeCounts:
    """Speaker time in seconds: left out, invented, given to another, and that of the reference."""

    missed_s: float = 0.0
    false_alarm_s: float = 0.0
    confusion_s: float = 0.0
    total_s: float = 0.0

    def __add__(self, other: TimeCounts) -> TimeCounts:
        return TimeCounts(
            self.missed_s + other.missed_s,
            self.false_alarm_s + other.false_alarm_s,
            self.confusion_s + other.confusion_s,
            self.total_s + other.total_s,
        )

    @property
    def errors_s(self) -> float:
        """All wrong time."""
        return self.missed_s + self.false_alarm_s + self.confusion_s

    @property
    def percent(self) -> float | None:
        """Diarization error rate; None if nobody speaks in the reference."""
        return 100 * self.errors_s / self.total_s if self.total_s else None


@dataclass(frozen=True, slots=True)
class JaccardCounts:
    """Jaccard errors, one in [0, 1] for each speaker of the reference, summed, and their number."""

    errors: float = 0.0
    speakers: int = 0

    def __add__(self, other: JaccardCounts) -> JaccardCounts:
        return JaccardCounts(self.errors + other.errors, self.speakers + other.speakers)

    @property
    def percent(self) -> float | None:
        """Jaccard error rate; None if nobody speaks in the reference."""
        return 100 * self.errors / self.speakers if self.speakers else None


Counts = WordCounts | TimeCounts | JaccardCounts
