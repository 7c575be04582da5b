"""SnapKV against NVIDIA's kvpress, where that is installed (it is not a dependency)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from support.indexed_speech import IndexedSpeech

HEADS, GROUP, ENTRIES, WINDOW, DIM = 2, 3, 80, 6, 8


@pytest.mark.filterwarnings("ignore")  # kvpress's own
def test_snapkv_when_scored_by_kvpress_then_the_same_entries() -> None:
    kvpress = pytest.importorskip("kvpress", reason="kvpress is not installed")
    generator = torch.Generator().manual_seed(0)
    keys = torch.randn(1, HEADS, ENTRIES, DIM, generator=generator)
    prompt = torch.randn(1, WINDOW, HEADS * GROUP, DIM, generator=generator)
    wide = keys.repeat_interleave(GROUP, dim=1)
    seen = torch.softmax(torch.einsum("rqhd,rhnd->rhqn", prompt, wide), dim=3)
    # kvpress looks at the last queries of a square of attention, and not at their own columns.
    attention = torch.nn.functional.pad(seen, (0, WINDOW, ENTRIES, 0))
    module = SimpleNamespace(config=SimpleNamespace(num_attention_heads=HEADS * GROUP))
    length = ENTRIES + WINDOW
    press = kvpress.SnapKVPress(window_size=WINDOW, kernel_size=5)
    scores = press.score(
        module,
        torch.zeros(1, length, 1),
        torch.zeros(1, HEADS, length, DIM),
        None,
        attention,
        {},
    )
    wanted = scores[0, :, :ENTRIES].topk(20, dim=1).indices
    speech = IndexedSpeech("snapkv", keys, prompt=prompt, budget=20, window=WINDOW)
    kept = speech.kept(torch.zeros(1, HEADS * GROUP, DIM))[0]
    assert kept == [set(head.tolist()) for head in wanted]
