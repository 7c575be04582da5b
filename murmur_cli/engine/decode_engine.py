"""Continuous batching: admit, step, select, sample, guard, finish."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import torch

from murmur_cli.engine.attention_focus import AttentionFocus, glances
from murmur_cli.engine.loop_guard import LoopGuard, LoopWatch
from murmur_cli.engine.model_adapter import DecoderAdapter, StepRow, TokenRule
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.regions import RowView, count_entries
from murmur_cli.engine.request import Finished, Loop, Request, StopReason
from murmur_cli.engine.sampler import sample
from murmur_cli.engine.scheduler import Scheduler
from murmur_cli.types import KvUsage


@dataclass(slots=True)
class _Row:
    """A request in its slot."""

    slot: int
    request: Request
    speech_entries: int
    no_speech_probability: float | None
    generator: torch.Generator | None
    watch: LoopWatch
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    attention: list[torch.Tensor] = field(default_factory=list)
    kv: KvUsage = field(default_factory=KvUsage)
    focus: AttentionFocus = field(default_factory=AttentionFocus)


class DecodeEngine:
    """Decodes requests in slots that are refilled as they become free.

    `step()` is the unit of work: free slots are filled, every active row decodes one token,
    finished rows leave in the same step. A row's tokens depend on nothing but its request.
    """

    def __init__(
        self,
        adapter: DecoderAdapter,
        policy: EvictionPolicy,
        rule: TokenRule,
        slots: int,
        guard: LoopGuard | None = None,
    ) -> None:
        self._adapter = adapter
        self._policy = policy
        self._rule = rule
        self._guard = guard or LoopGuard()
        self._scheduler = Scheduler(slots)
        self._rows: dict[int, _Row] = {}
        adapter.open(slots, adapter.max_entries, policy.output.bound)

    def submit(self, requests: Iterable[Request]) -> None:
        """Queue requests; may be called between steps."""
        self._scheduler.submit(requests)

    @property
    def busy(self) -> bool:
        """Whether a request waits or is being decoded."""
        return bool(self._rows) or self._scheduler.waiting > 0

    @torch.inference_mode()
    def step(self) -> list[Finished]:
        """Admit what fits, decode one token for each active row; the rows that finished."""
        finished = []
        # Rows that end with their first token free their slot before any step is decoded.
        while self._scheduler.can_admit:
            finished += self._admit()
        rows = [self._rows[slot] for slot in sorted(self._rows)]
        if not rows:
            return finished
        step_rows = [self._step_row(row) for row in rows]
        output = self._adapter.step(step_rows)
        self._follow(rows, output.attention)
        for index, (row, step_row) in enumerate(zip(rows, step_rows, strict=True)):
            row.kv += self._usage(row, step_row)
            if output.attention is not None:
                row.attention.append(output.attention[index].half())
        return finished + self._take(rows, output.logits)

    def _admit(self) -> list[Finished]:
        admitted = self._scheduler.admit()
        slots = [slot for slot, _ in admitted]
        entries = self._adapter.load(
            slots, [self._adapter.prepare(request.source) for _, request in admitted]
        )
        finished: list[Finished] = []
        # One prefill per length of prompt: rows of one call share their positions.
        for length in sorted({len(request.prompt) for _, request in admitted}):
            members = [
                i for i, (_, request) in enumerate(admitted) if len(request.prompt) == length
            ]
            output = self._adapter.prefill(
                [slots[i] for i in members], [admitted[i][1].prompt for i in members]
            )
            rows = []
            for position, i in enumerate(members):
                row = _Row(
                    slots[i],
                    admitted[i][1],
                    entries[i],
                    output.no_speech_probability[position],
                    _generator(admitted[i][1]),
                    self._guard.watch(admitted[i][1].audio_s),
                )
                if output.attention is not None:
                    row.attention.append(output.attention[position].half())
                self._rows[row.slot] = row
                rows.append(row)
            self._follow(rows, output.attention)
            finished += self._take(rows, output.logits)
        return finished

    def _step_row(self, row: _Row) -> StepRow:
        n = len(row.tokens)
        selection = self._policy.select(
            RowView(
                n,
                row.speech_entries,
                n,
                prompt_entries=len(row.request.prompt),
                focus=row.focus.focus,
            )
        )
        return StepRow(row.slot, row.tokens[-1], len(row.request.prompt), n, selection)

    def _follow(self, rows: list[_Row], attention: torch.Tensor | None) -> None:
        """Update where rows attend, if the policy asks for it."""
        need = self._policy.focus_need
        if need is None:
            return
        assert attention is not None, f"policy {self._policy.name} needs the adapter's probes"
        seen = glances(attention, [row.speech_entries for row in rows], need)
        for row, glance in zip(rows, seen, strict=True):
            row.focus.update(glance)

    def _usage(self, row: _Row, step: StepRow) -> KvUsage:
        speech = count_entries(step.selection.speech)
        output = count_entries(step.selection.output) + step.prompt_entries
        return KvUsage(
            steps=1,
            speech_entries_read=speech,
            speech_entries_held=row.speech_entries,
            output_entries_read=output,
            output_entries_held=step.prompt_entries + step.output_entries,
            bytes_read=(speech + output) * self._adapter.bytes_per_entry,
        )

    def _take(self, rows: list[_Row], logits: torch.Tensor) -> list[Finished]:
        """Choose the next token of each row; finish the rows that end."""
        self._rule.restrict(logits, [row.tokens for row in rows])
        sampled = sample(
            logits, [row.request.temperature for row in rows], [row.generator for row in rows]
        )
        finished = []
        for row, token, logprob in zip(rows, sampled.tokens, sampled.logprobs, strict=True):
            row.logprobs.append(logprob)
            if token == self._adapter.end_token:
                finished.append(self._finish(row, StopReason.END, None))
                continue
            row.tokens.append(token)
            loop = row.watch.see(token, self._rule.is_text)
            used = len(row.request.prompt) + len(row.tokens)
            if loop is not None:
                finished.append(self._finish(row, StopReason.LOOP, loop))
            elif row.watch.is_past_ceiling:
                finished.append(self._finish(row, StopReason.CEILING, None))
            elif len(row.tokens) >= row.request.max_new_tokens or used >= self._adapter.max_entries:
                finished.append(self._finish(row, StopReason.LENGTH, None))
        return finished

    def _finish(self, row: _Row, stop: StopReason, loop: Loop | None) -> Finished:
        del self._rows[row.slot]
        self._scheduler.release(row.slot)
        attention = None
        if row.attention:
            # The step that chose the end token is not a token's.
            traced = torch.stack(row.attention[: len(row.tokens)]) if row.tokens else None
            attention = None if traced is None else np.asarray(traced.cpu())
        return Finished(
            request=row.request,
            tokens=tuple(row.tokens),
            logprobs=tuple(row.logprobs),
            stop=stop,
            loop=loop,
            kv=row.kv,
            attention=attention,
            no_speech_probability=row.no_speech_probability,
        )


def _generator(request: Request) -> torch.Generator | None:
    if request.temperature <= 0:
        return None
    generator = torch.Generator()
    generator.manual_seed(request.seed)
    return generator
