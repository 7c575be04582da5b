"""`align` in the real engine on a random Whisper: what it reads, against plain loops."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from murmur_cli.asr.whisper.decoder import WhisperDecoder, WindowSource
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.model_adapter import PrefillOutput, StepOutput, StepRow
from murmur_cli.engine.policies.align_window import AlignWindow
from murmur_cli.engine.policies.base import EvictionPolicy, RequestRates
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.engine.policies.registry import POLICIES, build_policy
from murmur_cli.engine.request import Request
from murmur_cli.types import SampleSpan
from support.dense_whisper import greedy_with_masks
from support.tiny_whisper import (
    ENTRIES,
    PROMPT,
    AnyToken,
    chirp,
    tiny_tokens,
    tiny_whisper,
)

STEPS = 40
END = 207
RULE = AlignWindow(before=8, after=11, sinks=2, tail_sinks=5, max_spread=14.0, min_mass=0.6)


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_whisper(seed=0)


class TracedDecoder(WhisperDecoder):
    """Notes what each step of its only row read and attended to."""

    def __init__(self, model: Any, *, probed: bool = True) -> None:
        tokens = tiny_tokens(end=END)
        if not probed:
            tokens = dataclasses.replace(tokens, alignment_heads=())
        super().__init__(model, tokens)
        self.read: list[StepRow] = []
        self.attention: list[np.ndarray[Any, np.dtype[np.float64]]] = []

    def prefill(
        self,
        slots: Sequence[int],
        prompts: Sequence[tuple[int, ...]],
        suffixes: Sequence[tuple[int, ...]],
    ) -> PrefillOutput:
        output = super().prefill(slots, prompts, suffixes)
        self._note(output.attention)
        return output

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        self.read += rows
        output = super().step(rows)
        self._note(output.attention)
        return output

    def _note(self, attention: torch.Tensor | None) -> None:
        if attention is not None:
            self.attention.append(attention[0].double().numpy())


def decode_alone(adapter: WhisperDecoder, window: int, policy: EvictionPolicy) -> tuple[int, ...]:
    samples = chirp(window)
    engine = DecodeEngine(adapter, policy, AnyToken(), 1)
    source = WindowSource(samples, (SampleSpan(0, len(samples)),))
    engine.submit([Request("row", source, PROMPT, 1.0, STEPS)])
    finished = []
    while engine.busy:
        finished += engine.step()
    return finished[0].tokens


def expected_reads(attentions: Sequence[Any], rule: AlignWindow) -> list[set[int]]:
    """The definition in loops: what step 1, 2, … reads, given the attention before it."""
    reads = []
    weights, moments, spread, mass = 0.0, 0.0, 0.0, 0.0
    known = False
    for attention in attentions:
        body = [list(head[rule.sinks : ENTRIES - rule.tail_sinks]) for head in attention]
        masses = [sum(head) for head in body]
        points = [_quantile(head, 0.5) + rule.sinks for head in body]
        widths = [(_quantile(head, 0.75) - _quantile(head, 0.25)) / 2 for head in body]
        seen_at = _weighted_median(points, masses)
        away = [abs(p - seen_at) + w for p, w in zip(points, widths, strict=True)]
        seen_mass = sorted(masses)[len(masses) // 2]
        certainty = seen_mass**8
        weights = weights / 2 + certainty / 2
        moments = moments / 2 + certainty * seen_at / 2
        position = moments / weights
        assert weights > 0.01, "this test is about rows that are not in doubt for long"
        share = certainty / 2 / weights
        newest = _weighted_median(away, masses) + abs(seen_at - position)
        spread = (1 - share) * spread + share * newest
        mass = (mass + seen_mass) / 2 if known else seen_mass
        known = known or weights >= 0.2
        everything = set(range(ENTRIES))
        centre = math.floor(position + 0.5)
        window = {j for j in everything if centre - rule.before <= j <= centre + rule.after}
        edges = {j for j in everything if j < rule.sinks or j >= ENTRIES - rule.tail_sinks}
        lost = mass < rule.min_mass and max(window) < ENTRIES - rule.tail_sinks - 1
        is_full = not known or spread > rule.max_spread or lost
        reads.append(everything if is_full else window | edges)
    return reads


def _quantile(head: Sequence[float], share: float) -> int:
    total, wanted = 0.0, share * sum(head)
    for place, probability in enumerate(head):
        total += probability
        if total >= wanted:
            return place
    return len(head)


def _weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    total = 0.0
    for value, weight in sorted(zip(values, weights, strict=True)):
        total += weight
        if total >= sum(weights) / 2:
            return value
    raise AssertionError(values)


@pytest.mark.parametrize("window", range(4))
def test_align_when_decoding_then_reads_by_the_definition(model: Any, window: int) -> None:
    adapter = TracedDecoder(model)
    decode_alone(adapter, window, EvictionPolicy("align", RULE, KeepAll()))
    wanted = expected_reads(adapter.attention[: len(adapter.read)], RULE)
    read = [_listed(row.selection.speech) for row in adapter.read]
    assert read == wanted


def test_align_when_rows_differ_then_some_steps_are_windows_and_some_are_full(model: Any) -> None:
    sizes = set()
    for window in range(4):
        adapter = TracedDecoder(model)
        decode_alone(adapter, window, EvictionPolicy("align", RULE, KeepAll()))
        sizes |= {len(_listed(row.selection.speech)) for row in adapter.read}
    assert ENTRIES in sizes
    assert min(sizes) <= 2 + 20 + 5


@pytest.mark.parametrize("output", [KeepAll(), OutputWindow(2, 5)])
def test_align_when_decoding_then_tokens_of_masked_recomputation(
    model: Any, output: KeepAll | OutputWindow
) -> None:
    changed = 0
    for window in range(4):
        adapter = TracedDecoder(model)
        tokens = decode_alone(adapter, window, EvictionPolicy("align", RULE, output))
        kept = [(_listed(r.selection.speech), _listed(r.selection.output)) for r in adapter.read]
        encoded = adapter.encode([chirp(window)])[0]
        masked = greedy_with_masks(
            model, encoded, PROMPT, len(tokens), END, lambda step, kept=kept: kept[step - 1]
        )
        assert list(tokens) == masked
        changed += masked != greedy_with_masks(model, encoded, PROMPT, len(tokens), END)
    assert changed


def test_engine_when_policy_does_not_follow_attention_then_it_needs_none(model: Any) -> None:
    rates = RequestRates(50.0, 7.0, 2.0, has_alignment_heads=True)
    for name in POLICIES:
        policy = build_policy(name, {}, rates)
        if policy.focus_need is None:
            assert decode_alone(TracedDecoder(model, probed=False), 0, policy)
        else:
            with pytest.raises(AssertionError, match="needs the adapter's probes"):
                decode_alone(TracedDecoder(model, probed=False), 0, policy)


def _listed(ranges: Sequence[tuple[int, int]]) -> set[int]:
    return {j for start, end in ranges for j in range(start, end)}
