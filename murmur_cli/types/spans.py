"""Spans of samples and of seconds."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.timebase import to_milliseconds, to_seconds


@dataclass(frozen=True, slots=True, order=True)
class SampleSpan:
    """Half-open range of samples at 16 kHz; never empty."""

    start: int
    end: int

    def __post_init__(self) -> None:
        assert 0 <= self.start < self.end, (self.start, self.end)

    @property
    def length(self) -> int:
        """Number of samples."""
        return self.end - self.start

    @property
    def time(self) -> TimeSpan:
        """The same range in seconds."""
        return TimeSpan(to_seconds(self.start), to_seconds(self.end))


@dataclass(frozen=True, slots=True, order=True)
class TimeSpan:
    """Range of time in seconds; start <= end."""

    start_s: float
    end_s: float

    def __post_init__(self) -> None:
        assert self.start_s <= self.end_s, (self.start_s, self.end_s)

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self.end_s - self.start_s

    @property
    def middle_s(self) -> float:
        """Midpoint in seconds."""
        return (self.start_s + self.end_s) / 2

    @property
    def in_whole_ms(self) -> TimeSpan:
        """The same rounded to whole milliseconds, from 0 on and at least one long."""
        start_ms = max(0, to_milliseconds(self.start_s))
        end_ms = max(start_ms + 1, to_milliseconds(self.end_s))
        return TimeSpan(start_ms / 1000, end_ms / 1000)

    def overlap_s(self, other: TimeSpan) -> float:
        """Seconds common to both; 0.0 if they do not meet."""
        return max(0.0, min(self.end_s, other.end_s) - max(self.start_s, other.start_s))

    def gap_s(self, other: TimeSpan) -> float:
        """Seconds between the two; 0.0 if they meet or overlap."""
        return max(0.0, self.start_s - other.end_s, other.start_s - self.end_s)
