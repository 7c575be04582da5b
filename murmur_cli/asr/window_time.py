"""Times within a window's joined pieces <-> samples of the recording."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from murmur_cli.timebase import SAMPLE_RATE_HZ, round_half_up
from murmur_cli.types import SampleSpan, TimeSpan


@dataclass(frozen=True, slots=True)
class WindowTime:
    """The map of one window: its pieces, heard one after the other.

    Example: pieces (16000, 32000) and (64000, 80000): second 0.5 of the window is sample
    24000, second 1.5 is sample 72000.
    """

    pieces: tuple[SampleSpan, ...]

    @property
    def duration_s(self) -> float:
        """Seconds of the joined pieces."""
        return sum(piece.length for piece in self.pieces) / SAMPLE_RATE_HZ

    def _starts(self) -> list[int]:
        """Window sample where each piece begins, then the end of the last."""
        starts = [0]
        for piece in self.pieces:
            starts.append(starts[-1] + piece.length)
        return starts

    def to_sample(self, window_s: float, *, is_end: bool = False) -> int:
        """Sample of the recording for a time in the window, clamped to the pieces.

        At a joint the time belongs to the piece that begins there, for an end to the one that
        ends there.
        """
        starts = self._starts()
        sample = min(max(round_half_up(window_s * SAMPLE_RATE_HZ), 0), starts[-1])
        find = bisect_left if is_end else bisect_right
        index = min(max(find(starts, sample) - 1, 0), len(self.pieces) - 1)
        return self.pieces[index].start + sample - starts[index]

    def to_recording(self, start_s: float, end_s: float) -> TimeSpan:
        """Time in the recording of a stretch of the window."""
        start = self.to_sample(start_s)
        end = max(start, self.to_sample(end_s, is_end=True))
        return TimeSpan(start / SAMPLE_RATE_HZ, end / SAMPLE_RATE_HZ)

    def rest_after(self, window_s: float) -> tuple[SampleSpan, ...]:
        """The pieces from a time in the window on."""
        cut = self.to_sample(window_s)
        return tuple(
            SampleSpan(max(piece.start, cut), piece.end) for piece in self.pieces if piece.end > cut
        )


def speech_after(speech: tuple[SampleSpan, ...], sample: int) -> tuple[SampleSpan, ...]:
    """The parts of speech spans that lie after a sample of the recording."""
    return tuple(
        SampleSpan(max(span.start, sample), span.end) for span in speech if span.end > sample
    )
