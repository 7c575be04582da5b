"""Logits to one token a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Sampled:
    """Token and its log-probability (natural logarithm) for each row."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]


def sample(
    logits: torch.Tensor,
    temperatures: Sequence[float],
    generators: Sequence[torch.Generator | None],
) -> Sampled:
    """Greedy at temperature 0, else a draw from softmax(logits / temperature).

    logits: (rows, vocabulary) float32, forbidden tokens -inf. The log-probability is that of
    the undivided logits, so that runs at different temperatures can be compared.
    """
    best = logits.argmax(dim=1)
    for row, temperature in enumerate(temperatures):
        if temperature > 0:
            # Drawn on the CPU: the same numbers on every device, and where the generator lives.
            weights = torch.softmax(logits[row] / temperature, dim=0).cpu()
            best[row] = torch.multinomial(weights, 1, generator=generators[row])[0]
    chosen = logits.gather(1, best[:, None])[:, 0] - torch.logsumexp(logits, dim=1)
    return Sampled(tuple(best.tolist()), tuple(chosen.tolist()))
