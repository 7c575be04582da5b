"""Shape of the attention of a model under full attention, pooled over its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from murmur_cli.engine.request import Finished
from policies.attention_shape import OFFSETS, shape_of
from policies.coverage import layers_of
from policies.subject import Subject

FIRST = 1
"""The token that the prompt gives is left out: it is a time or a mark, never a word."""


def statistics(subject: Subject, full: Sequence[Finished]) -> dict[str, Any]:
    """Means over all steps of all answers, by head in the order of `subject.heads`.

    full: answers under full attention, with the attention of all heads.
    """
    layers = layers_of(subject.heads)
    pooled: dict[str, Any] = {}
    moves: list[npt.NDArray[np.float64]] = []
    for one in full:
        assert one.attention is not None
        if len(one.tokens) <= FIRST + max(OFFSETS):
            continue
        shape = shape_of(one.attention[FIRST:], layers)
        moves.append(shape.pop("peak_moves"))
        for name, value in shape.items():
            pooled[name] = pooled[name] + value if name in pooled else value
    steps = pooled["steps"]
    by_head = {
        name: _rounded(pooled[name] / steps)
        for name in ("speech_mass", "entropy", "outside_band", "share_99")
    }
    by_head |= {
        f"jaccard_{offset}": _rounded(pooled[f"jaccard_{offset}"] / pooled[f"pairs_{offset}"])
        for offset in OFFSETS
    }
    by_head["peak_move"] = _rounded(np.median(np.concatenate(moves), axis=0))
    return {
        "steps": int(steps),
        "heads": [list(head) for head in subject.heads],
        "by_head": by_head,
        "layer_share_99": _rounded(pooled["layer_share_99"] / steps),
    }


def _rounded(values: npt.NDArray[np.float64]) -> list[float]:
    return [round(float(value), 5) for value in values]
