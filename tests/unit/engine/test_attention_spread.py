"""The index that measures: reads everything, and notes entropy and mass as numpy finds them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from murmur_cli.engine.arena import ArenaShape, KvArena
from murmur_cli.engine.indexes.attention_spread import AttentionSpreadIndex
from murmur_cli.engine.policies.attention_spread import AttentionSpread, SpreadRecord
from murmur_cli.engine.regions import RowView
from murmur_cli.engine.retrieval_step import RetrievalStep
from murmur_cli.engine.speech_index import SpeechRows

CPU = torch.device("cpu")
ENTRIES, START = 12, 2


def measured(
    query: torch.Tensor, keys: torch.Tensor, around: int = 0
) -> tuple[SpreadRecord, torch.Tensor]:
    """One step of one row; query (heads, dim), keys (kv_heads, START + ENTRIES, dim).

    around: how many of the first entries, which are no speech, are read as well.
    """
    heads, capacity, dim = keys.shape
    arena = KvArena(ArenaShape(1, 1, heads, capacity, dim, torch.float32, CPU))
    arena.keys[0, 0], arena.values[0, 0] = keys, keys
    record = SpreadRecord()
    rule = AttentionSpread(record=record).of_layers([5])
    index = AttentionSpreadIndex(rule, arena, ENTRIES)
    rows = SpeechRows((0,), (START,), (ENTRIES,), (1,), CPU)
    step = RetrievalStep((0,), [((0, around),) if around else ()], range(1), rows)
    mixed, _ = step.attend(index, 0, query[None], arena.keys[0], arena.values[0])
    assert step.speech_read() == (float(ENTRIES),)
    return record, mixed[0]


def test_rule_when_asked_then_the_index_sees_every_row() -> None:
    assert AttentionSpread().select_speech(RowView(1, 3, 1)) is None


def test_spread_when_attention_is_even_then_all_of_the_speech() -> None:
    record, _ = measured(torch.zeros(2, 4), torch.randn(2, START + ENTRIES, 4))
    for head in record.layer(5):
        assert head.share == pytest.approx(1.0)
        assert head.mass == pytest.approx(1.0)
    assert record.layer(0) == ()
    assert record.steps == 1


def test_spread_when_attention_is_on_one_entry_then_one_of_the_entries() -> None:
    keys = torch.zeros(1, START + ENTRIES, 4)
    keys[0, START + 7, 0] = 1000.0
    record, _ = measured(torch.tensor([[1.0, 0, 0, 0]]), keys)
    assert record.layer(5)[0].share == pytest.approx(1 / ENTRIES)


def test_spread_when_heads_share_a_kv_head_then_that_of_what_they_read_together() -> None:
    torch.manual_seed(2)
    query, keys = torch.randn(4, 4), torch.randn(2, START + ENTRIES, 4)
    record, mixed = measured(query, keys, around=START)
    for head, found in enumerate(record.layer(5)):
        own = keys[head].double().numpy()
        weights = np.exp(query[2 * head : 2 * head + 2].double().numpy() @ own.T)
        weights /= weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(mixed[2 * head : 2 * head + 2], weights @ own, rtol=1e-5)
        seen = weights[:, START:].sum(axis=0)
        assert found.mass == pytest.approx(seen.sum() / 2, rel=1e-5)
        seen /= seen.sum()
        entropy = -(seen * np.log(seen)).sum()
        assert found.share == pytest.approx(np.exp(entropy) / ENTRIES, rel=1e-5)


def test_record_when_steps_follow_then_geometric_mean_of_shares() -> None:
    record = SpreadRecord()
    record.add(0, [np.log(0.1), 0.0], [1.0, 0.5])
    record.add(0, [np.log(0.4), 0.0], [0.5, 0.0])
    first, second = record.layer(0)
    assert (first.share, first.mass) == (pytest.approx(0.2), pytest.approx(0.75))
    assert (second.share, second.mass) == (pytest.approx(1.0), pytest.approx(0.25))
