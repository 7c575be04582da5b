from __future__ import annotations

import pytest
import torch

from murmur_cli.engine.arena import ArenaShape, KvArena
from murmur_cli.engine.attention import attend, select
from murmur_cli.engine.regions import Range

SHAPE = ArenaShape(2, 3, 4, 20, 8, torch.float32, torch.device("cpu"))
RANGES: list[tuple[Range, ...]] = [((0, 2), (5, 9), (15, 20)), ((3, 4),)]
SLOTS = [2, 0]


@pytest.fixture
def arena() -> KvArena:
    made = KvArena(SHAPE)
    made.keys.normal_()
    made.values.normal_()
    return made


def test_attend_when_probed_then_probabilities_lie_at_their_entries(arena: KvArena) -> None:
    query = torch.randn(2, 4, 8)
    mixed, seen = attend(
        query,
        arena.keys[1],
        arena.values[1],
        select(arena, SLOTS, RANGES),
        probe_heads=(3, 1),
    )
    assert seen is not None
    for row, slot in enumerate(SLOTS):
        scores = torch.full((4, 20), -torch.inf)
        for start, end in RANGES[row]:
            scores[:, start:end] = (arena.keys[1, slot, :, start:end] @ query[row, :, :, None])[
                :, :, 0
            ]
        wanted = torch.softmax(scores, dim=1)
        torch.testing.assert_close(seen[row], wanted[[3, 1]], rtol=0, atol=1e-6)
        torch.testing.assert_close(
            mixed[row], (wanted[:, None] @ arena.values[1, slot])[:, 0], rtol=0, atol=1e-5
        )


def test_attend_when_not_probed_then_none(arena: KvArena) -> None:
    step = select(arena, SLOTS, RANGES)
    assert attend(torch.randn(2, 4, 8), arena.keys[0], arena.values[0], step)[1] is None
