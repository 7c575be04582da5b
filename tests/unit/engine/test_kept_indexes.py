"""SnapKV, PyramidKV, ChunkKV, H2O and VoxZip's second stage against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from murmur_cli.engine.indexes.chunkkv import best_chunks
from murmur_cli.engine.indexes.pyramidkv import pyramid_budget
from murmur_cli.engine.indexes.snapkv import pool
from support.indexed_speech import IndexedSpeech


def drawn(*sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def attention(prompt: torch.Tensor, keys: torch.Tensor) -> np.ndarray:
    """float64 probabilities (queries, query_heads, entries) of one row."""
    group = prompt.shape[1] // keys.shape[0]
    wide = keys.double().repeat_interleave(group, dim=0).numpy()
    scores = np.einsum("qhd,hnd->qhn", prompt.double().numpy(), wide)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return np.asarray(weights / weights.sum(axis=2, keepdims=True))


def best(scores: np.ndarray, count: int) -> set[int]:
    return set(np.argsort(-scores, kind="stable")[:count].tolist())


@pytest.mark.parametrize("group", [1, 4])
def test_snapkv_when_prompt_is_read_then_best_pooled_entries(group: int) -> None:
    keys, prompt = drawn(2, 3, 40, 8), drawn(2, 5, 3 * group, 8, seed=1)
    speech = IndexedSpeech("snapkv", keys, prompt=prompt, budget=9, kernel=3)
    kept = speech.kept(drawn(2, 3 * group, 8, seed=2))
    for row in range(2):
        seen = attention(prompt[row], keys[row]).sum(axis=0).reshape(3, group, 40).mean(axis=1)
        padded = np.pad(seen, ((0, 0), (1, 1)))  # zeros beyond the ends, as the code pads
        pooled = (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3
        assert kept[row] == [best(pooled[head], 9) for head in range(3)]


def test_snapkv_when_no_pooling_and_one_query_then_the_best_of_one_attention_row() -> None:
    keys, prompt = drawn(1, 1, 12, 4), drawn(1, 1, 1, 4, seed=1)
    speech = IndexedSpeech("snapkv", keys, prompt=prompt, budget=5, kernel=1)
    assert speech.kept(drawn(1, 1, 4))[0][0] == best(attention(prompt[0], keys[0])[0, 0], 5)


def test_snapkv_when_all_keys_are_equal_then_the_earliest_in_a_tie() -> None:
    speech = IndexedSpeech(
        "snapkv", torch.ones(1, 1, 8, 4), prompt=drawn(1, 2, 1, 4), budget=3, kernel=1
    )
    assert speech.kept(drawn(1, 1, 4)) == [[{0, 1, 2}]]


def test_pool_when_at_the_border_then_zeros_count_in_a_mean_and_not_in_a_maximum() -> None:
    scores = torch.tensor([[[3.0, 0.0, 0.0, 6.0]]])
    torch.testing.assert_close(pool(scores, 3, "avg"), torch.tensor([[[1.0, 1.0, 2.0, 2.0]]]))
    torch.testing.assert_close(pool(scores, 3, "max"), torch.tensor([[[3.0, 3.0, 6.0, 6.0]]]))


def test_pyramid_when_28_layers_then_the_published_numbers() -> None:
    # KVCache-Factory: budget 1,024 with a window of 32, prompt of 2,500.
    budgets = [pyramid_budget(layer, 28, 1024 - 32, 2500, 20) for layer in range(28)]
    assert budgets[:2] == [1935, 1866]
    assert budgets[-1] == 72
    assert sum(budgets) / 28 == pytest.approx(1003.5)
    assert budgets == sorted(budgets, reverse=True)


@pytest.mark.parametrize(
    ("layers", "mean", "entries", "wanted"),
    [
        (1, 50, 200, [50]),  # one layer: nothing to share out
        (3, 60, 100, [60, 60, 60]),  # less than twice the budget: all layers alike
        (4, 100, 200, [195, 132, 69, 6]),  # first 2 * 100 - 5, steps of 190 // 3
        (2, 10, 20, [20, 0]),
    ],
)
def test_pyramid_when_small_then_by_hand(
    layers: int, mean: int, entries: int, wanted: list[int]
) -> None:
    found = [pyramid_budget(layer, layers, mean, entries, 20) for layer in range(layers)]
    assert found == [max(1, count) for count in wanted]


def test_pyramidkv_when_prompt_is_read_then_first_layer_keeps_most() -> None:
    keys, prompt = drawn(1, 2, 60, 8), drawn(1, 4, 2, 8, seed=1)
    speech = IndexedSpeech("pyramidkv", keys, layers=3, prompt=prompt, budget=20, kernel=1)
    scores = attention(prompt[0], keys[0]).sum(axis=0)
    for layer, count in enumerate((39, 20, 1)):  # 2 * 20 - 1 down to 20 // 20, steps of 19
        kept = speech.kept(drawn(1, 2, 8), layer=layer)[0]
        assert kept == [best(scores[head], count) for head in range(2)]


def test_chunks_when_last_is_short_then_it_competes_by_its_mean() -> None:
    scores = torch.tensor([1.0, 1.0, 0.0, 0.0, 1.5])
    assert best_chunks(scores, 2, 1).tolist() == [4]
    assert best_chunks(scores, 2, 2).tolist() == [0, 1, 4]
    assert best_chunks(torch.ones(5), 2, 1).tolist() == [0, 1]  # a tie: the earlier


def test_chunkkv_when_prompt_is_read_then_whole_chunks_for_all_heads_and_two_layers() -> None:
    keys, prompt = drawn(1, 2, 23, 8), drawn(1, 3, 4, 8, seed=1)
    speech = IndexedSpeech("chunkkv", keys, layers=4, prompt=prompt, budget=12, chunk=5)
    scores = attention(prompt[0], keys[0]).sum(axis=(0, 1))
    means = np.array([scores[start : start + 5].mean() for start in range(0, 23, 5)])
    wanted = {
        entry for chunk in best(means, 2) for entry in range(5 * chunk, min(23, 5 * chunk + 5))
    }
    for layer in range(4):
        assert speech.kept(drawn(1, 4, 8), layer=layer) == [[wanted, wanted]]


def test_chunkkv_when_chunks_are_single_entries_then_snapkv_of_summed_heads() -> None:
    keys, prompt = drawn(1, 2, 23, 8), drawn(1, 3, 2, 8, seed=1)
    speech = IndexedSpeech("chunkkv", keys, prompt=prompt, budget=7, chunk=1)
    scores = attention(prompt[0], keys[0]).sum(axis=(0, 1))
    assert speech.kept(drawn(1, 2, 8)) == [[best(scores, 7)] * 2]


def test_h2o_when_prompt_is_read_then_the_heaviest_of_all_queries() -> None:
    keys, prompt = drawn(2, 2, 30, 8), drawn(2, 11, 4, 8, seed=1)
    speech = IndexedSpeech("h2o", keys, prompt=prompt, budget=8)
    kept = speech.kept(drawn(2, 4, 8))
    for row in range(2):
        seen = attention(prompt[row], keys[row]).sum(axis=0).reshape(2, 2, 30).mean(axis=1)
        assert kept[row] == [best(seen[head], 8) for head in range(2)]


def test_h2o_when_it_warms_up_then_reads_all_and_counts_the_steps() -> None:
    keys = drawn(1, 1, 10, 4)
    speech = IndexedSpeech("h2o", keys, budget=3, warm_up=2)
    queries = [drawn(1, 1, 4, seed=seed) for seed in (1, 2, 3)]
    reads = []
    for step, query in enumerate(queries, start=1):
        _, _, (read,) = speech.attend(query, step)
        reads.append(read)
    assert reads == [10.0, 10.0, 3.0]
    scores = attention(torch.cat(queries[:2]), keys[0]).sum(axis=(0, 1))
    assert speech.kept(queries[2], step=3)[0][0] == best(scores, 3)


def test_voxzip_when_queries_follow_each_other_then_older_ones_decay() -> None:
    # Scores 100 * (1, 0) and 100 * (.5, .5): attention rows (1, 0) and (.5, .5) by two keys.
    keys = torch.tensor([[[[100.0, 0.0], [-100.0, 0.0], [-100.0, -100.0]]]])
    prompt = torch.tensor([[[[1.0, 0.0]], [[0.0, 1.0]]]])
    speech = IndexedSpeech("voxzip", keys, prompt=prompt, budget=1)
    index = speech.index
    found = index._scores[0, 1, 0]
    torch.testing.assert_close(found, torch.tensor([0.95 + 0.5, 0.5, 0.0]), atol=1e-6, rtol=0)
    assert speech.kept(torch.ones(1, 1, 2)) == [[{0}]]


def test_voxzip_when_nothing_decays_then_the_sums_of_h2o() -> None:
    keys, prompt = drawn(1, 2, 30, 8), drawn(1, 6, 4, 8, seed=1)
    query = drawn(1, 4, 8)
    heavy = IndexedSpeech("h2o", keys, prompt=prompt, budget=8)
    decayed = IndexedSpeech("voxzip", keys, prompt=prompt, budget=8, decay=1, scope="kv_head")
    assert decayed.kept(query) == heavy.kept(query)


def test_voxzip_when_all_decays_then_the_last_query_alone_for_the_whole_layer() -> None:
    keys, prompt = drawn(1, 2, 30, 8), drawn(1, 6, 4, 8, seed=1)
    speech = IndexedSpeech("voxzip", keys, prompt=prompt, budget=8, decay=0)
    scores = attention(prompt[0, -1:], keys[0]).sum(axis=(0, 1))
    assert speech.kept(drawn(1, 4, 8)) == [[best(scores, 8)] * 2]
