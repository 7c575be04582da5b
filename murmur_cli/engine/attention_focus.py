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
"""Share of an average that is left after one step. Speech moves by ten entries a step: an average
over the last two steps lags by about as much, far less than any useful margin."""

CERTAINTY_POWER = 8
"""A glance counts by this power of its mass: 0.95 for 0.66, 0.6 (a timestamp's step) for 0.02."""

MIN_CERTAINTY = 0.5
"""Average certainty from which a focus is known at first: about two sure steps."""

TINY = 1e-9


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
        self._moment = 0.0
        self._focus: Focus | None = None

    @property
    def focus(self) -> Focus | None:
        """Where the row attends; None until a few glances were sure."""
        return self._focus

    def update(self, glance: Glance) -> None:
        """Take in the attention of the newest step."""
        certainty = glance.mass**CERTAINTY_POWER
        self._certainty = _average(self._certainty, certainty)
        self._moment = _average(self._moment, certainty * glance.position)
        last = self._focus
        if last is None:
            if self._certainty < MIN_CERTAINTY:
                return
            last = Focus(0.0, glance.spread, glance.mass)
        # After many doubtful steps no weight is left; the last sure position still stands.
        known = self._certainty > TINY
        self._focus = Focus(
            position=self._moment / self._certainty if known else last.position,
            spread=_average(last.spread, glance.spread),
            mass=_average(last.mass, glance.mass),
        )


def glances(
    attention: torch.Tensor, speech_entries: Sequence[int], need: FocusNeed
) -> list[Glance]:
    """One glance for each row.

    attention: probabilities (rows, heads, entries), zero where nothing was read.
    speech_entries: of each row. Sinks are left out. Each head points at the weighted median of
    its attention; the position is the median over heads, weighted by what they attend to; the
    spread is the median over heads of the mean distance from that position.
    """
    rows, heads, entries = attention.shape
    device = attention.device
    place = torch.arange(entries, device=device)
    end = torch.tensor(speech_entries, device=device)[:, None] - need.tail_sinks
    counts = (place >= need.sinks) & (place < end)
    seen = attention.float() * counts[:, None]
    total = seen.cumsum(dim=2)
    mass = total[:, :, -1]
    pointed = (total < mass[:, :, None] / 2).sum(dim=2)
    position = _weighted_median(pointed.float(), mass)
    distance = (place - position[:, None]).abs()
    spread = (seen * distance[:, None]).sum(dim=2) / mass.clamp_min(TINY)
    summary = torch.stack(
        [position, _weighted_median(spread, mass), mass.sort(dim=1).values[:, heads // 2]], dim=1
    )
    assert summary.shape == (rows, 3)
    return [Glance(*row) for row in summary.tolist()]


def _average(average: float, value: float) -> float:
    return KEPT * average + (1 - KEPT) * value


def _weighted_median(values: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Lower weighted median of each row. values, weights: (rows, count) -> (rows,)."""
    ordered, order = values.sort(dim=1)
    total = weights.gather(1, order).cumsum(dim=1)
    index = (total < total[:, -1:] / 2).sum(dim=1, keepdim=True)
    return ordered.gather(1, index)[:, 0]
