"""Our own speech eviction: the window follows where the decoder attends.

MURMUR's window moves at a fixed rate; fast speech, a silence or a change of speaker moves the
reader away from it. Here the window lies around the row's focus (`engine/attention_focus.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from murmur_cli.engine.policies.base import FocusNeed, RequestRates
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.regions import Range, RowView, merge_ranges
from murmur_cli.errors import UsageError

# Chosen on Whisper base over meetings and read speech: 55 % of the entries read, at a cost below
# one point of word error rate. Narrower margins cost from nothing to four points on the same audio.
BEFORE_S = 7.7
AFTER_S = 7.7

MAX_SPREAD_S = 1.5
"""Nineteen in twenty sure steps of Whisper spread less than a second; even attention over this
window spreads four."""


@dataclass(frozen=True, slots=True)
class AlignWindow:
    """Reads the speech around the row's focus, and its first and last entries.

    With N speech entries, the focus at entry p (rounded) and body = [sinks, N - tail_sinks), a
    step reads [0, sinks), body ∩ [p - before, p + after] and [N - tail_sinks, N). It reads
    everything

    - while no focus is known, in the first steps of a row;
    - while the attention is spread out: spread > max_spread;
    - while little of it meets the speech in the window: mass < min_mass. That is so when the
      reader wants to go where it cannot see. Where the window reaches the tail sinks this is
      no sign: the rest is attention to the tail, which is read.

    Raises:
        UsageError: a value below its limit.
    """

    before: int
    after: int
    sinks: int = 0
    tail_sinks: int = 0
    max_spread: float = 100.0
    min_mass: float = 0.5

    def __post_init__(self) -> None:
        require_at_least("before", self.before, 0)
        require_at_least("after", self.after, 1)
        require_at_least("sinks", self.sinks, 0)
        require_at_least("tail_sinks", self.tail_sinks, 0)
        if not self.max_spread > 0:
            raise UsageError(f"--evict-opt max_spread={self.max_spread:g}: give more than 0")
        if not 0 <= self.min_mass <= 1:
            raise UsageError(f"--evict-opt min_mass={self.min_mass:g}: give 0 to 1")

    def select_speech(self, row: RowView) -> tuple[Range, ...]:
        """Sinks, and the window around the focus or everything."""
        n = row.speech_entries
        focus = row.focus
        if focus is None or focus.spread > self.max_spread:
            return merge_ranges((0, n))
        sinks = min(self.sinks, n)
        tail = max(sinks, n - self.tail_sinks)
        position = math.floor(focus.position + 0.5)
        end = position + self.after + 1
        if focus.mass < self.min_mass and end < tail:
            return merge_ranges((0, n))
        start = max(sinks, position - self.before)
        return merge_ranges((0, sinks), (start, min(end, tail)), (tail, n))

    @property
    def focus_need(self) -> FocusNeed | None:
        """The sinks say nothing about the position."""
        return FocusNeed(self.sinks, self.tail_sinks)

    @classmethod
    def defaults_for(cls, rates: RequestRates) -> AlignWindow:
        """Margins in seconds, in the backend's entries.

        Raises:
            UsageError: no heads of this backend are known to follow the audio.
        """
        if not rates.has_alignment_heads:
            raise UsageError(
                "--evict align: no heads of this model are known to follow the audio; use speech"
            )
        return cls(
            before=round(BEFORE_S * rates.speech_entries_per_s),
            after=round(AFTER_S * rates.speech_entries_per_s),
            tail_sinks=rates.tail_sinks,
            max_spread=MAX_SPREAD_S * rates.speech_entries_per_s,
        )
