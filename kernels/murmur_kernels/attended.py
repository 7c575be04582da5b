"""What decode attention gives back."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Attended(NamedTuple):
    """Results of `decode_attention`.

    Attributes:
        out: the query's shape and dtype.
        probabilities: float32 (rows, probe heads, capacity) at the arena's entries for
            `StepRanges`, (rows, probe heads, terms) in the order of a `Selection`; zero where
            nothing was read. None unless there are probe heads.
        log_sum_exp: float32 (rows, query_heads), natural logarithm of the sum of exponentials of
            the scores; -inf where nothing was read. None unless asked for.
    """

    out: torch.Tensor
    probabilities: torch.Tensor | None
    log_sum_exp: torch.Tensor | None
