"""SnapKV: what the last prompt tokens attend to is kept, once and for all.

Source: SnapKV (arXiv:2404.14469) and its public code: the attention of the last prompt tokens
(softmax over the whole prompt) is summed over these tokens, pooled over neighbouring entries
(average, zeros beyond the ends, as the code pads), and the best entries are kept with the window
itself.

Choices: only the speech is chosen from, prompt and suffix are kept whole and the budget counts
speech entries; so the window holds no speech and is as long as the suffix allows, at least the
last token. One list per KV head, by the mean over its query heads, which are joined before
pooling (the published code keeps a list per query head). For Whisper the window is the decoder's
prompt and the attention that over the encoder's output. Of equal scores the earlier entry.
"""

from __future__ import annotations

import torch

from murmur_cli.engine.arena import KvArena
from murmur_cli.engine.indexes.kept import KeptIndex, after_speech
from murmur_cli.engine.policies.pyramidkv import PyramidKv
from murmur_cli.engine.policies.snapkv import SnapKv
from murmur_cli.engine.speech_index import SpeechRows


class SnapKvIndex(KeptIndex):
    """The best entries of each KV head by pooled attention."""

    def __init__(
        self, rule: SnapKv | PyramidKv, arena: KvArena, places: int, most: int | None = None
    ) -> None:
        super().__init__(
            rule,
            arena,
            places,
            most=rule.budget.most(places) if most is None else most,
            reduce="max" if rule.reduce == "max" else "mean",
        )
        self._options = rule

    def observed_queries(self, suffix_entries: int) -> int:
        """The window, without speech in it."""
        return after_speech(self._options.window, suffix_entries)

    def _keep(self, layer: int, row: SpeechRows, scores: torch.Tensor) -> None:
        pooled = pool(scores, self._options.kernel, self._options.pooling)
        self._keep_best(layer, row, pooled, self._budgets(layer, row.lengths[0]))


def pool(scores: torch.Tensor, kernel: int, pooling: str) -> torch.Tensor:
    """Scores (rows, kv_heads, entries) pooled over `kernel` entries around each."""
    if pooling == "max":
        return torch.nn.functional.max_pool1d(scores, kernel, stride=1, padding=kernel // 2)
    return torch.nn.functional.avg_pool1d(scores, kernel, stride=1, padding=kernel // 2)
