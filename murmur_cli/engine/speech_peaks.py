"""Where watched heads look on the speech: a few numbers a step; all probabilities are too many.

A chunk of an hour has 27,000 speech entries and as many output tokens. Of each head and step only
the strongest entry is kept, with its neighbours and the sum over the speech: enough to say where
a head that follows the audio was, and whether it follows at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import torch

REACH = 4
"""Neighbours on each side of the strongest entry: a word lasts some entries."""

PLACE, ON_SPEECH, NEAR = 0, 1, 2
"""Columns of `StepPeaks.numbers`: the strongest speech entry, the sum over the speech, and from
NEAR on the probabilities around the strongest entry."""

NUMBERS = NEAR + 2 * REACH + 1

Heads = tuple[tuple[int, int], ...]
"""(layer, query head) pairs."""


@dataclass(frozen=True, slots=True)
class StepPeaks:
    """One step's look of some heads. numbers: (rows, heads, NUMBERS) float32."""

    heads: Heads
    numbers: torch.Tensor


@dataclass(frozen=True, slots=True)
class PeakTrace:
    """What some heads looked at for each output token of a row.

    Attributes:
        heads: which.
        places: (tokens, heads) strongest speech entry.
        on_speech: (tokens, heads) probability on the speech.
        near: (tokens, heads, 2 * REACH + 1) probabilities around the strongest entry; zero beyond
            the speech.
    """

    heads: Heads
    places: npt.NDArray[np.int64]
    on_speech: npt.NDArray[np.float32]
    near: npt.NDArray[np.float32]

    @property
    def tokens(self) -> int:
        """Of the output."""
        return len(self.places)

    def part(self, tokens: slice, heads: Sequence[int]) -> PeakTrace:
        """Some of the tokens and, by their numbers, some of the heads."""
        numbers = list(heads)
        return PeakTrace(
            tuple(self.heads[number] for number in numbers),
            self.places[tokens][:, numbers],
            self.on_speech[tokens][:, numbers],
            self.near[tokens][:, numbers],
        )


def speech_peaks(seen: torch.Tensor, start: torch.Tensor, end: torch.Tensor) -> torch.Tensor:
    """Numbers of `StepPeaks` from probabilities, in shapes that do not depend on their values.

    Args:
        seen: (rows, heads, entries) over whole slots.
        start, end: (rows,) the speech of each row in its slot.
    """
    entries = seen.shape[2]
    entry = torch.arange(entries, device=seen.device)
    is_speech = (entry >= start[:, None]) & (entry < end[:, None])
    speech = seen.float() * is_speech[:, None]
    best = torch.maximum(speech.argmax(dim=2), start[:, None])
    around = best[:, :, None] + torch.arange(-REACH, REACH + 1, device=seen.device)
    near = speech.gather(2, around.clamp(0, entries - 1))
    near = near * ((around >= 0) & (around < entries))
    place = (best - start[:, None]).float()
    return torch.cat([place[:, :, None], speech.sum(dim=2, keepdim=True), near], dim=2)


def peak_trace(steps: Sequence[tuple[Heads, torch.Tensor]]) -> PeakTrace | None:
    """The steps of a row as one trace, of the heads that all of them saw; None without any.

    steps: heads and numbers (heads, NUMBERS) of each output token.
    """
    if not steps:
        return None
    common = [head for head in steps[-1][0] if all(head in heads for heads, _ in _runs(steps))]
    if not common:
        return None
    parts = [
        torch.stack(numbers)[:, [heads.index(head) for head in common]]
        for heads, numbers in _runs(steps)
    ]
    joined = torch.cat(parts).float().cpu().numpy()
    places = joined[:, :, PLACE].astype(np.int64)
    return PeakTrace(tuple(common), places, joined[:, :, ON_SPEECH], joined[:, :, NEAR:])


def _runs(
    steps: Sequence[tuple[Heads, torch.Tensor]],
) -> list[tuple[Heads, list[torch.Tensor]]]:
    """Steps in a row that saw the same heads."""
    return [
        (heads, [numbers for _, numbers in run])
        for heads, run in groupby(steps, lambda one: one[0])
    ]
