from __future__ import annotations

import pytest
import torch

from murmur_cli.engine.arena import ArenaShape, KvArena, OutputRing

SHAPE = ArenaShape(2, 3, 4, 10, 8, torch.float32, torch.device("cpu"))


def filled_arena() -> KvArena:
    arena = KvArena(SHAPE)
    arena.keys.fill_(-7.0)
    arena.values.fill_(-7.0)
    return arena


def test_shape_when_counted_then_bytes_by_hand() -> None:
    # key and value, 2 layers, 4 heads, 8 numbers of 4 bytes; 3 slots of 10 entries
    assert SHAPE.bytes_per_entry == 2 * 2 * 4 * 8 * 4
    assert SHAPE.total_bytes == 3 * 10 * 512
    arena = KvArena(SHAPE)
    assert arena.keys.nbytes + arena.values.nbytes == SHAPE.total_bytes


def test_write_entries_when_called_then_one_entry_a_row_changes() -> None:
    arena = filled_arena()
    keys, values = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
    arena.write_entries(1, torch.tensor([2, 0]), torch.tensor([9, 3]), keys, values)
    changed = (arena.keys != -7.0).any(dim=4).any(dim=2)  # (layers, slots, entries)
    assert changed.nonzero().tolist() == [[1, 0, 3], [1, 2, 9]]
    assert torch.equal(arena.keys[1, 2, :, 9], keys[0])
    assert torch.equal(arena.values[1, 0, :, 3], values[1])


def test_write_block_when_called_then_first_entries_of_its_slots() -> None:
    arena = filled_arena()
    block = torch.randn(2, 4, 5, 8)
    arena.write_block(0, [2, 1], block, block + 1)
    assert torch.equal(arena.keys[0, 2, :, :5], block[0])
    assert torch.equal(arena.values[0, 1, :, :5], block[1] + 1)
    assert (arena.keys[0, :, :, 5:] == -7.0).all()
    assert (arena.keys[1] == -7.0).all()
    assert (arena.keys[0, 0] == -7.0).all()


def test_ring_when_unbounded_then_in_order() -> None:
    ring = OutputRing(3, 0, None)
    assert [ring.place(entry) for entry in range(4)] == [3, 4, 5, 6]
    assert ring.place_range(1, 4) == ((4, 7),)


@pytest.mark.parametrize("prompt", [1, 3])
@pytest.mark.parametrize(("sinks", "window"), [(0, 1), (0, 4), (2, 1), (2, 3), (4, 7)])
def test_ring_when_filled_step_by_step_then_ranges_hold_the_window(
    prompt: int, sinks: int, window: int
) -> None:
    """Write entry numbers into a slot by brute force; the ranges must find the last ones."""
    ring = OutputRing(prompt, sinks, window)
    capacity = prompt + sinks + window
    slot: list[int | None] = [None] * capacity
    for newest in range(40):
        slot[ring.place(newest)] = newest
        count = newest + 1
        kept_sinks = min(sinks, count)
        start = max(sinks, count - window)
        spans = ring.place_range(0, kept_sinks) if kept_sinks else ()
        assert [slot[j] for s, e in spans for j in range(s, e)] == list(range(kept_sinks))
        if start < count:
            spans = ring.place_range(start, count)
            held = [slot[j] for s, e in spans for j in range(s, e)]
            assert len(held) == count - start
            assert set(held) == set(range(start, count))
            assert all(s < e for s, e in spans)
            assert list(spans) == sorted(spans)
    assert slot[:prompt] == [None] * prompt
