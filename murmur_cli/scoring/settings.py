"""Options of `murmur score`, checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass

from murmur_cli.errors import UsageError

DEFAULT_COLLAR_S = 5.0


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """How to score.

    Attributes:
        collar_s: of tcpWER: a word may stand for one that lies this far from its time.
        der_collar_s: left out of DER and JER on each side of the borders of reference turns.
        skip_overlap: leave out of DER and JER where several speak in the reference.
    """

    collar_s: float = DEFAULT_COLLAR_S
    der_collar_s: float = 0.0
    skip_overlap: bool = False

    def __post_init__(self) -> None:
        for option, value in (("--collar", self.collar_s), ("--der-collar", self.der_collar_s)):
            if not (math.isfinite(value) and value >= 0):
                raise UsageError(f"{option} {value:g}: give seconds, 0 or more")
