"""StreamingLLM: attention sinks and recent entries of one cache that holds everything.

Source: Xiao et al., Efficient Streaming Language Models with Attention Sinks
(arXiv:2309.17453, section 3.2); 4 sinks and 2,000 recent entries in its public code. Entries
keep their original positions here; the published code counts positions inside the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.base import FocusNeed, OutputBound, RequestRates
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.regions import Range, RowView, merge_ranges
from murmur_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class StreamingWindow:
    """Keeps the first `sinks` and the last `window` entries of prompt, speech, suffix and output.

    With the regions one after the other, T entries in all, the current token's included, a step
    reads [0, min(sinks, T)) and [max(sinks, T - window), T): the published rule. It differs in
    one point: prompt and suffix are always read, as under every policy here, where the
    published rule lets them go. They still count as entries, so that speech and output are read
    exactly as published.

    The speech is evicted as the output grows, whether it has been transcribed or not. This is
    the published baseline, not a rule to use.

    Raises:
        UsageError: a value below its limit.
    """

    sinks: int = 4
    window: int = 2000

    def __post_init__(self) -> None:
        require_at_least("sinks", self.sinks, 0)
        # The newest entry is the current token's own: it must always be read.
        require_at_least("window", self.window, 1)

    @classmethod
    def defaults_for(cls, rates: RequestRates) -> StreamingWindow:
        """The published setting; sinks and recent entries of a text model have no rate.

        Raises:
            UsageError: the speech of this backend is not in the cache that grows.
        """
        if not rates.speech_is_causal:
            raise UsageError(
                "--evict streaming: this model's speech region (a cross-attention cache) has no "
                "order of recency; use output, speech or align"
            )
        return cls()

    def select_speech(self, row: RowView) -> tuple[Range, ...]:
        """What of the first and last entries lies in the speech region."""
        first = self.sinks - row.prompt_entries
        last = self.window - row.output_entries - row.suffix_entries
        return _ends(row.speech_entries, first, last)

    def select_output(self, row: RowView) -> tuple[Range, ...]:
        """What of the first and last entries lies in the output region."""
        before = row.prompt_entries + row.speech_entries + row.suffix_entries
        return _ends(row.output_entries, self.sinks - before, self.window)

    @property
    def focus_need(self) -> FocusNeed | None:
        """None: recency counts, whatever is attended."""
        return None

    @property
    def bound(self) -> OutputBound | None:
        """A ring for short prompts, whose first entries of output are sinks."""
        return OutputBound(self.sinks, self.window)


def _ends(entries: int, first: int, last: int) -> tuple[Range, ...]:
    """The first and last entries of a region; counts below 0 are 0."""
    return merge_ranges((0, min(first, entries)), (max(0, entries - max(0, last)), entries))
