"""Where a row attends: the speech position that its alignment heads point at, step by step.

A few heads of a speech model attend to the audio of the token that comes next (Whisper names
them: `alignment_heads`). Each step gives one glance: the place where these heads agree, how
far their attention spreads around it, and how much of it meets speech at all. Glances are joined
by exponential averages in which a sure glance counts more than a doubtful one: Whisper looks
elsewhere for the step that chooses a timestamp, and that must not move the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_cli.engine.policies.base import FocusNeed
from murmur_cli.engine.regions import Focus

KEPT = 0.5
"""Share of an average that is left after one step. Speech moves by about ten entries a step: an
average over the last two steps lags by as much, far less than any useful margin."""

CERTAINTY_POWER = 8
"""A glance counts by this power of its mass: 0.95 for 0.66, 0.6 (a timestamp's step) for 0.02."""

MIN_CERTAINTY = 0.2
"""Average certainty from which a focus is known at first: one or two sure steps."""

NO_CERTAINTY = 0.01
"""Doubt over many steps must not add up: below this average certainty glances move little."""


@dataclass(frozen=True, slots=True)
class Glance:
    """One step's attention of one row; fields as in Focus."""

    position: float
    spread: float
    mass: float


class AttentionFocus:
    """The running averages of one row's glances."""

    def __init__(self) -> None:
        self._certainty = 0.0
        self._position = 0.0
        self._spread = 0.0
        self._mass = 0.0
        self._known = False

    @property
    def focus(self) -> Focus | None:
        """Where the row attends; None until a glance or two were sure."""
        return Focus(self._position, self._spread, self._mass) if self._known else None

    def update(self, glance: Glance) -> None:
        """Take in the attention of the newest step.

        A glance far from the position moves it part of the way and adds its distance to the
        spread: between two places the row counts as attending to neither.
        """
        certainty = glance.mass**CERTAINTY_POWER
        self._certainty = _average(self._certainty, certainty)
        # The newest glance's share of averages that are weighted by certainty.
        share = (1 - KEPT) * certainty / max(self._certainty, NO_CERTAINTY)
        self._position += share * (glance.position - self._position)
        away = abs(glance.position - self._position)
        self._spread += share * (glance.spread + away - self._spread)
        self._mass = _average(self._mass, glance.mass) if self._known else glance.mass
        self._known = self._known or self._certainty >= MIN_CERTAINTY


def glances(
    attention: torch.Tensor, speech_entries: Sequence[int], need: FocusNeed
) -> list[Glance]:
    """One glance for each row.

    attention: probabilities (rows, heads, entries), zero where nothing was read.
    speech_entries: of each row. Sinks are left out. Each head points at the median of its
    attention, and is as wide as half of its interquartile range. The position is the median of
    what the heads point at, weighted by their mass; the spread is the like median of a head's
    distance from it and width.
    """
    heads, entries = attention.shape[1:]
    device = attention.device
    place = torch.arange(entries, device=device)
    end = torch.tensor(speech_entries, device=device)[:, None] - need.tail_sinks
    counts = (place >= need.sinks) & (place < end)
    total = (attention.float() * counts[:, None]).cumsum(dim=2)
    mass = total[:, :, -1]
    # Sums only grow, so a quantile is found by bisection; counting smaller ones costs ten times.
    quarters = mass[:, :, None] * torch.tensor([0.25, 0.5, 0.75], device=device)
    first, pointed, last = torch.searchsorted(total, quarters).float().unbind(dim=2)
    position = _weighted_median(pointed, mass)
    away = (pointed - position[:, None]).abs() + (last - first) / 2
    middle = mass.sort(dim=1).values[:, heads // 2]
    summary = torch.stack([position, _weighted_median(away, mass), middle], dim=1)
    return [Glance(*row) for row in summary.tolist()]


def _average(average: float, value: float) -> float:
    return KEPT * average + (1 - KEPT) * value


def _weighted_median(values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Lower weighted median of each row. values, weights: (rows, count) -> (rows,)."""
    ordered, order = values.sort(dim=1)
    total = weights.gather(1, order).cumsum(dim=1)
    index = (total < total[:, -1:] / 2).sum(dim=1, keepdim=True)
    return ordered.gather(1, index)[:, 0]
