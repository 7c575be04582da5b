"""MURMUR's speech eviction: a left edge that moves through the speech region.

Source: MURMUR (arXiv), speech eviction, and its public code: nothing is evicted for `delay`
steps, then `rate` entries a step, until `window` entries remain. The paper's prose describes a
window with two edges; `right_edge=true` gives that form. Published setting: delay 512,
window 1,024, rate 1, for requests of 300 s at 7.5 speech entries per second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from murmur_cli.engine.policies.base import FocusNeed, RequestRates
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.regions import Range, RowView, merge_ranges
from murmur_cli.errors import UsageError

MAX_RATE = 1e6
"""Entries a step; more than any region holds."""

# The published setting in seconds of audio: 7.5 speech entries and 9 output tokens stand for one
# second. What is fixed is time, not entries; a backend with requests shorter than the published
# 300 s scales delay and window with them, so that the same share of a request is read.
PUBLISHED_REQUEST_S = 300.0
PUBLISHED_DELAY_S = 512 / 9.0
PUBLISHED_WINDOW_S = 1024 / 7.5
PUBLISHED_PACE = (1 / 7.5) / (1 / 9.0)
"""Seconds of audio that the edge passes while one second's usual output is decoded."""


@dataclass(frozen=True, slots=True)
class SpeechWindow:
    """Evicts the speech region from the left as decoding goes on.

    With N speech entries, E(t) = 0 for t <= delay, else
    min(floor(rate * (t - delay)), N - sinks - window - tail_sinks), never below 0. A step
    reads [0, sinks) and [sinks + E, N); with `right_edge` the second range ends at
    min(N, sinks + E + window), and the last `tail_sinks` entries are read besides.

    Raises:
        UsageError: a value below its limit.
    """

    delay: int
    window: int
    rate: float
    sinks: int = 0
    right_edge: bool = False
    tail_sinks: int = 0

    def __post_init__(self) -> None:
        require_at_least("delay", self.delay, 0)
        require_at_least("window", self.window, 1)
        require_at_least("sinks", self.sinks, 0)
        require_at_least("tail_sinks", self.tail_sinks, 0)
        if not 0 < self.rate <= MAX_RATE:
            raise UsageError(
                f"--evict-opt rate={self.rate:g}: give more than 0 and at most {MAX_RATE:g}"
            )

    def select_speech(self, row: RowView) -> tuple[Range, ...]:
        """Sinks and what the left edge (and the right edge, if any) leaves."""
        n = row.speech_entries
        sinks = min(self.sinks, n)
        tail = max(sinks, n - self.tail_sinks)
        moved = math.floor(self.rate * (row.step - self.delay)) if row.step > self.delay else 0
        start = sinks + max(0, min(moved, tail - sinks - self.window))
        end = min(tail, start + self.window) if self.right_edge else tail
        return merge_ranges((0, sinks), (start, end), (tail, n))

    @property
    def focus_need(self) -> FocusNeed | None:
        """None: the edges move with the steps, whatever is attended."""
        return None

    @classmethod
    def defaults_for(cls, rates: RequestRates) -> SpeechWindow:
        """The published setting in the backend's own entries and steps."""
        scale = min(1.0, rates.request_s / PUBLISHED_REQUEST_S)
        return cls(
            delay=round(PUBLISHED_DELAY_S * scale * rates.output_tokens_per_s),
            window=round(PUBLISHED_WINDOW_S * scale * rates.speech_entries_per_s),
            rate=PUBLISHED_PACE * rates.speech_entries_per_s / rates.output_tokens_per_s,
            tail_sinks=rates.tail_sinks,
        )
