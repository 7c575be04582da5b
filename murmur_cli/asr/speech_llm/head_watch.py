"""Which heads are recorded while a run decodes: many at first, then the few that follow the audio.

Recording a head costs one look at its probabilities a step. A family may name its heads. Else all
heads of a few layers are recorded until some rows have said enough to tell which of them follow
(`following_heads`); from then on only these are, in all rows. If there is none, nothing is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from murmur_cli.asr.speech_llm.following_heads import measure_head
from murmur_cli.asr.speech_llm.layer_caches import LayerKind
from murmur_cli.engine.speech_peaks import NEAR, ON_SPEECH, PLACE, Heads

MOST_LAYERS = 8
FIRST_LAYER_SHARE = 4
"""The first quarter of the layers is left out: it still makes words out of pieces."""

REVIEWS = (128, 256, 512)
"""Text tokens of a row after which the heads are measured. Heads that do not follow by the last
of them never will."""

SHORTLIST = 8
"""Heads that are kept. An answer's times come from the best of these, chosen by that answer."""

MIN_PROGRESS = 0.5
"""For the list: what an answer then asks for is stricter."""


@dataclass(slots=True)
class _Row:
    """A row in its slot: the newest look, and those that led to text."""

    newest: torch.Tensor
    looks: list[torch.Tensor] = field(default_factory=list)


class HeadWatch:
    """The heads to record now.

    Args:
        named: heads that are known to follow; then there is nothing to find out.
        layers: of the model.
        query_heads: of each layer.
    """

    def __init__(self, named: Heads, layers: Sequence[LayerKind], query_heads: int) -> None:
        self.heads: Heads = named or candidate_heads(layers, query_heads)
        self._reviews = [] if named else list(REVIEWS)
        self._rows: dict[int, _Row] = {}

    @property
    def is_settled(self) -> bool:
        """Whether the heads will not change any more."""
        return not self._reviews

    def begin(self, slot: int, look: torch.Tensor) -> None:
        """A row begins; look: (heads, NUMBERS) of its first token."""
        if not self.is_settled:
            self._rows[slot] = _Row(look)

    def said(self, slot: int, *, is_text: bool) -> None:
        """What the newest look of a row led to."""
        row = self._rows.get(slot)
        if row is not None and is_text:
            row.looks.append(row.newest)

    def look(self, slot: int, look: torch.Tensor) -> None:
        """A row looks for its next token."""
        row = self._rows.get(slot)
        if row is not None:
            row.newest = look

    def review(self) -> None:
        """Between two steps: settle for the heads that follow, if enough was said to tell."""
        if self.is_settled or not self._rows:
            return
        most = max(len(row.looks) for row in self._rows.values())
        if most < self._reviews[0]:
            return
        least = self._reviews.pop(0) // 2
        rows = [row.looks for row in self._rows.values() if len(row.looks) >= least]
        found = self._best([torch.stack(looks).cpu().numpy() for looks in rows])
        if found or self.is_settled:
            self.heads = tuple(self.heads[head] for head in found)
            self._reviews = []
            self._rows.clear()

    def _best(self, rows: Sequence[np.ndarray]) -> list[int]:
        """Numbers of the heads that follow in the mean of the rows, best first."""
        worth: dict[int, float] = {}
        for head in range(len(self.heads)):
            measures = [
                measure_head(
                    looks[:, head, PLACE].astype(np.int64),
                    looks[:, head, ON_SPEECH],
                    looks[:, head, NEAR:].sum(axis=1),
                )
                for looks in rows
            ]
            if np.mean([measure.progress for measure in measures]) >= MIN_PROGRESS:
                worth[head] = float(np.mean([measure.worth for measure in measures]))
        return sorted(worth, key=lambda head: -worth[head])[:SHORTLIST]


def candidate_heads(layers: Sequence[LayerKind], query_heads: int) -> Heads:
    """All heads of a few layers, evenly from a quarter of the depth on; none that slide."""
    whole = [layer for layer, kind in enumerate(layers) if not kind.slides]
    deep = [layer for layer in whole if layer >= len(layers) // FIRST_LAYER_SHARE] or whole
    count = min(MOST_LAYERS, len(deep))
    chosen = sorted({deep[round(at)] for at in np.linspace(0, len(deep) - 1, count)})
    return tuple((layer, head) for layer in chosen for head in range(query_heads))
