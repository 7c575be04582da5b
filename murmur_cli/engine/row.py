"""A request in its slot, while it is decoded."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from murmur_cli.engine.attention_focus import AttentionFocus
from murmur_cli.engine.loop_guard import LoopWatch
from murmur_cli.engine.model_adapter import EntryBytes, StepRow
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.regions import RowView, count_entries
from murmur_cli.engine.request import Finished, Loop, Request, StopReason
from murmur_cli.engine.scheduler import Queued
from murmur_cli.engine.speech_peaks import Heads, PeakTrace, StepPeaks, peak_trace
from murmur_cli.types import KvUsage


@dataclass(slots=True)
class Row:
    """What is known of the request so far; `attention` and `peaks` have an item for each step."""

    slot: int
    queued: Queued
    watch: LoopWatch
    generator: torch.Generator | None
    speech_entries: int = 0
    no_speech_probability: float | None = None
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    attention: list[torch.Tensor] = field(default_factory=list)
    peaks: list[tuple[Heads, torch.Tensor]] = field(default_factory=list)
    kv: KvUsage = field(default_factory=KvUsage)
    focus: AttentionFocus = field(default_factory=AttentionFocus)

    @property
    def request(self) -> Request:
        """The request."""
        return self.queued.request

    def step(self, policy: EvictionPolicy, ahead: int = 0) -> StepRow:
        """The row's part in the next decode step, or in one after `ahead` more tokens."""
        n = len(self.tokens) + ahead
        prompt, suffix = len(self.request.prompt), len(self.request.suffix)
        view = RowView(n, self.speech_entries, n, prompt, suffix, self.focus.focus)
        return StepRow(
            self.slot,
            self.tokens[-1],
            prompt,
            n,
            policy.select(view),
            self.speech_entries,
            suffix,
        )

    def left(self, max_entries: int) -> int:
        """Tokens that may still be decoded, at least one."""
        positions = max_entries - self.request.own_tokens
        return max(1, min(self.request.max_new_tokens, positions) - len(self.tokens))

    def count(self, step: StepRow, entry: EntryBytes, speech_read: float | None = None) -> None:
        """Add to `kv` what the step read, and what full attention would have read.

        speech_read: where an index chose, the mean over layers and heads; a whole number is added.
        """
        chosen = step.selection.speech
        if chosen is None:
            assert speech_read is not None, step
            speech = round(speech_read)
        else:
            speech = count_entries(chosen)
        around = step.prompt_entries + step.suffix_entries
        output = count_entries(step.selection.output) + around
        self.kv += KvUsage(
            steps=1,
            speech_entries_read=speech,
            speech_entries_held=self.speech_entries,
            output_entries_read=output,
            output_entries_held=around + step.output_entries,
            bytes_read=speech * entry.speech + output * entry.output,
        )

    def look(self, peaks: StepPeaks | None, index: int) -> None:
        """Note where the watched heads look; `index` is the row's in the step."""
        if peaks is not None:
            self.peaks.append((peaks.heads, peaks.numbers[index]))

    def finish(self, stop: StopReason, loop: Loop | None, wall_s: float) -> Finished:
        """The row's result."""
        attention = None
        if self.attention:
            # The step that chose the end token is not a token's.
            traced = torch.stack(self.attention[: len(self.tokens)]) if self.tokens else None
            attention = None if traced is None else np.asarray(traced.cpu())
        return Finished(
            request=self.request,
            tokens=tuple(self.tokens),
            logprobs=tuple(self.logprobs),
            stop=stop,
            loop=loop,
            kv=self.kv,
            attention=attention,
            no_speech_probability=self.no_speech_probability,
            wall_s=wall_s,
            peaks=self._peak_trace(),
        )

    def _peak_trace(self) -> PeakTrace | None:
        """Of the output's tokens; None unless every one of them was watched."""
        watched = self.peaks[: len(self.tokens)]
        return peak_trace(watched) if len(watched) == len(self.tokens) else None


def begin_row(slot: int, queued: Queued, watch: LoopWatch) -> Row:
    """A row without a token; a draw uses a generator seeded by the request."""
    generator = None
    if queued.request.temperature > 0:
        generator = torch.Generator()
        generator.manual_seed(queued.request.seed)
    return Row(slot, queued, watch, generator)
