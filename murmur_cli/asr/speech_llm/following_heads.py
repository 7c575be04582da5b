"""Which heads follow the audio, told from where they looked while an answer was decoded.

The measure. Let p be the strongest speech entries of a head, token by token, and q the sequence
that never goes back and lies nearest to p (least sum of |p - q|: isotonic regression, whose cost
a heap gives in one pass). The head's progress is

    1 - sum |p - q| / sum |p - median(p)|

1 where the head never looks back, about 0 where it looks at one place (nothing is to be
explained then, and a few stray looks are not) or where order means nothing. A head is peaked by
the share of its attention on the speech that lies around its strongest entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappush, heapreplace

import numpy as np
import numpy.typing as npt

from murmur_cli.engine.speech_peaks import PeakTrace

MIN_TOKENS = 24
"""Of the text: from fewer nothing can be told."""

MIN_PROGRESS = 0.7
MIN_PEAKED = 0.25
MIN_PLACES = 0.2
"""Different places for each token: speech is at least one entry a token, a jump or two is none."""

MOST_HEADS = 4
"""More add nothing: the best are averaged."""


@dataclass(frozen=True, slots=True)
class HeadMeasure:
    """How a head looks at the audio; shares in [0, 1]."""

    progress: float
    peaked: float
    places: float

    @property
    def follows(self) -> bool:
        """Whether it tells where the speech is that a token was heard from."""
        return (
            self.progress >= MIN_PROGRESS
            and self.peaked >= MIN_PEAKED
            and self.places >= MIN_PLACES
        )

    @property
    def worth(self) -> float:
        """What the best are chosen by."""
        return self.progress * self.peaked


def measure_head(
    places: npt.NDArray[np.int64],
    on_speech: npt.NDArray[np.float32],
    near: npt.NDArray[np.float32],
) -> HeadMeasure:
    """The measure of one head.

    Args:
        places: (tokens,) strongest entries.
        on_speech: (tokens,) probability on the speech.
        near: (tokens,) probability around the strongest entry.
    """
    total = float(on_speech.sum())
    return HeadMeasure(
        progress(places.tolist()),
        float(near.sum()) / total if total > 0 else 0.0,
        len(np.unique(places)) / max(1, len(places)),
    )


def progress(places: Sequence[int]) -> float:
    """The share of the places' spread that a sequence explains which never goes back."""
    if not places:
        return 0.0
    middle = sorted(places)[len(places) // 2]
    spread = sum(abs(place - middle) for place in places)
    if spread == 0:
        return 0.0
    cost, behind = 0, list[int]()  # negated: a heap with the greatest first
    for place in places:
        heappush(behind, -place)
        greatest = -behind[0]
        if greatest > place:
            cost += greatest - place
            heapreplace(behind, -place)
    return 1.0 - cost / spread


def following_heads(trace: PeakTrace, is_text: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    """Numbers of the trace's heads that follow the audio, the best first, at most MOST_HEADS.

    is_text: (tokens,) the tokens to go by; marks that recur in any output look elsewhere.
    """
    if int(is_text.sum()) < MIN_TOKENS:
        return ()
    near = trace.near.sum(axis=2)
    measures = {
        head: measure_head(
            trace.places[is_text, head], trace.on_speech[is_text, head], near[is_text, head]
        )
        for head in range(len(trace.heads))
    }
    found = [head for head, measure in measures.items() if measure.follows]
    return tuple(sorted(found, key=lambda head: -measures[head].worth)[:MOST_HEADS])
