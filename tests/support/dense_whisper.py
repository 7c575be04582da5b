"""Greedy Whisper without a cache: every step is computed anew with masks of -inf.

Independent of the engine: transformers' own layers get the sets that a policy keeps as plain
masks, one line for each position. Sets are written out entry by entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

KeptSets = Callable[[int], tuple[set[int], set[int]]]
"""Step t, counted from 1 -> entries of the speech region and of the output region it reads."""


def kept_output(step: int, sinks: int, window: int) -> set[int]:
    """Output eviction: the first `sinks` and the last `window` of `step` entries."""
    return {j for j in range(step) if j < sinks or j >= step - window}


def kept_speech(
    step: int,
    entries: int,
    delay: int,
    window: int,
    rate: float,
    sinks: int = 0,
    tail_sinks: int = 0,
) -> set[int]:
    """Speech eviction: after `delay` steps `rate` entries a step leave behind the sinks.

    The window that stays ends where the tail sinks begin.
    """
    gone = 0
    if step > delay:
        movable = max(0, entries - sinks - tail_sinks - window)
        gone = min(math.floor(rate * (step - delay)), movable)
    return {j for j in range(entries) if j < sinks or j >= sinks + gone}


def kept_streaming(
    step: int, prompt: int, entries: int, sinks: int, window: int
) -> tuple[set[int], set[int]]:
    """StreamingLLM: first and last of prompt, speech and output in one row; speech, output."""
    total = prompt + entries + step
    kept = {j for j in range(total) if j < sinks or j >= total - window}
    speech = {j - prompt for j in kept if prompt <= j < prompt + entries}
    return speech, {j - prompt - entries for j in kept if j >= prompt + entries}


@torch.inference_mode()
def greedy_with_masks(
    model: Any,
    encoded: torch.Tensor,
    prompt: tuple[int, ...],
    steps: int,
    end: int,
    kept: KeptSets | None = None,
) -> list[int]:
    """Up to `steps` greedy tokens, without `end`. encoded: (entries, width) of one window."""
    output: list[int] = []
    while len(output) < steps:
        logits = _last_logits(model, encoded, [*prompt, *output], len(prompt), kept)
        token = int(logits.argmax())
        if token == end:
            break
        output.append(token)
    return output


def _last_logits(
    model: Any,
    encoded: torch.Tensor,
    ids: list[int],
    prompt: int,
    kept: KeptSets | None,
) -> torch.Tensor:
    own = torch.full((len(ids), len(ids)), -math.inf).triu(1)
    speech = torch.zeros(len(ids), encoded.shape[0])
    for position in range(prompt, len(ids) if kept else 0):
        assert kept is not None
        step = position - prompt + 1
        speech_set, output_set = kept(step)
        own[position, prompt : position + 1] = -math.inf
        own[position, [prompt + j for j in sorted(output_set)]] = 0.0
        speech[position] = -math.inf
        speech[position, sorted(speech_set)] = 0.0
    decoder = model.model.decoder
    positions = torch.arange(len(ids))
    hidden = decoder.embed_tokens(torch.tensor([ids])) + decoder.embed_positions.weight[positions]
    for layer in decoder.layers:
        hidden = layer(
            hidden,
            attention_mask=own[None, None],
            encoder_hidden_states=encoded[None],
            encoder_attention_mask=speech[None, None],
            use_cache=False,
        )
    logits: torch.Tensor = model.proj_out(decoder.layer_norm(hidden))[0, -1]
    return logits
