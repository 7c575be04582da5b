"""Options of VoxZip's second stage; the index is `engine/indexes/voxzip.py`."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.h2o import CROSS_WARM_UP
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import RetrievalRule, require_choice, require_share


@dataclass(frozen=True, slots=True)
class VoxZip(RetrievalRule):
    """Decayed accumulated attention.

    Attributes:
        decay: of the scores with every query (published: 0.95).
        window: last prompt queries that the scores begin with.
        scope: 'layer' keeps one list for all heads (published), 'kv_head' one for each.
        warm_up: decode steps that read everything and count before entries are dropped.

    Raises:
        UsageError: a value outside its limits.
    """

    decay: float = 0.95
    window: int = 64
    scope: str = "layer"
    warm_up: int = 0

    def __post_init__(self) -> None:
        require_share("decay", self.decay)
        require_at_least("window", self.window, 1)
        require_choice("scope", self.scope, ("layer", "kv_head"))
        require_at_least("warm_up", self.warm_up, 0)

    @classmethod
    def defaults_for(cls, rates: RequestRates) -> VoxZip:
        """A warm-up where the prompt is not part of the speech's cache."""
        return cls(warm_up=0 if rates.speech_is_causal else CROSS_WARM_UP)
