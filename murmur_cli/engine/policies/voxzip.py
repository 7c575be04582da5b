"""Options of VoxZip: speech grouped by another recogniser's words, then entries dropped.

The first stage is `asr/speech_llm/speech_groups.py`, the second `engine/indexes/voxzip.py`.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.h2o import CROSS_WARM_UP
from murmur_cli.engine.policies.options import require_at_least
from murmur_cli.engine.policies.retrieval import (
    RetrievalRule,
    require_choice,
    require_no_warm_up,
    require_share,
)
from murmur_cli.errors import UsageError

OF_OTHER_STAGE = {
    "1": ("decay", "window", "scope", "warm_up"),
    "2": ("confidence", "anchor_model"),
}
"""`stages` -> options that nothing reads."""


@dataclass(frozen=True, slots=True)
class VoxZip(RetrievalRule):
    """Decayed accumulated attention, over speech that may have been grouped before.

    Attributes:
        stages: '1' groups the speech and drops nothing, '2' drops only, 'both' (published). A
            share as a budget counts the entries that the first stage leaves.
        confidence: a word of the anchors' recogniser counts above it (published: 0.3).
        anchor_model: that recogniser, a Whisper, as for `--model`.
        decay: of the scores with every query (published: 0.95).
        window: last prompt queries that the scores begin with.
        scope: 'layer' keeps one list for all heads (published), 'kv_head' one for each.
        warm_up: decode steps that read everything and count before entries are dropped.

    Raises:
        UsageError: a value outside its limits.
    """

    stages: str = "both"
    confidence: float = 0.3
    anchor_model: str = "whisper-base"
    decay: float = 0.95
    window: int = 64
    scope: str = "layer"
    warm_up: int = 0

    def __post_init__(self) -> None:
        require_share("decay", self.decay)
        require_at_least("window", self.window, 1)
        require_choice("scope", self.scope, ("layer", "kv_head"))
        require_at_least("warm_up", self.warm_up, 0)
        require_choice("stages", self.stages, ("1", "2", "both"))
        require_share("confidence", self.confidence)

    def check_given(self, given: Set[str]) -> None:
        """Refuse options of the stage that is left out."""
        if self.stages == "1" and "budget" in given:
            raise UsageError("--kv-budget: stage 1 of voxzip drops nothing; leave one of them out")
        for name in OF_OTHER_STAGE.get(self.stages, ()):
            if name in given:
                raise UsageError(
                    f"--evict-opt {name}: is of the stage of voxzip that stages={self.stages} "
                    "leaves out; leave it out, too"
                )

    @classmethod
    def defaults_for(cls, rates: RequestRates) -> VoxZip:
        """Both stages; where the speech has a cache of its own the second, after a warm-up."""
        if rates.speech_is_causal:
            return cls()
        return cls(stages="2", warm_up=CROSS_WARM_UP)

    @property
    def groups_speech(self) -> bool:
        """Whether the first stage is asked for."""
        return self.stages != "2"

    @property
    def has_index(self) -> bool:
        """Whether the second stage is."""
        return self.stages != "1"

    def reads_all(self, entries: int) -> bool:
        """As every rule's; without the second stage always."""
        return not self.has_index or RetrievalRule.reads_all(self, entries)

    def check_offload(self) -> None:
        """A warm-up reads everything."""
        require_no_warm_up("voxzip", self.warm_up)

    def check_for(self, rates: RequestRates) -> None:
        """The first stage adds embeddings of text to those of speech: one text model reads both."""
        if self.groups_speech and not rates.speech_is_causal:
            raise UsageError(
                f"--evict-opt stages={self.stages}: stage 1 of voxzip puts text embeddings among "
                "speech embeddings, and Whisper's decoder reads them in different places; "
                "stages=2 is defined for it"
            )
