"""The error bound of retrieval (C³) for every policy, with summaries and without.

|o - o'| <= (1 - covered) D, where o and o' are the mixes of a head under full attention and under
the policy, D the greatest distance between two values, and covered = sum_j min(p_j, p'_j) over all
entries. For a policy that leaves entries out and reads the others as they are, covered is the mass
that is retained. A summary reads each of its entries with an even part of its weight, so its p'
is known entry by entry, and the same bound holds: o - o' = sum_j (p_j - p'_j) v_j, and half of
sum_j |p_j - p'_j| is 1 - covered. Tilts (`second_order`) move the mix by share * |scale q . tilts|
more, and no further, where the summaries hold that share of the softmax.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.engine.arena import ArenaShape, KvArena
from murmur_cli.engine.attention import attend, select
from murmur_cli.engine.indexes.c3 import C3Index
from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.registry import POLICIES, RETRIEVAL, build_policy
from murmur_cli.engine.regions import Focus, Range, RowView, merge_ranges
from murmur_cli.engine.retrieval_step import RetrievalStep
from support.indexed_speech import IndexedSpeech

DIM = 6
CPU = torch.device("cpu")
RATES = RequestRates(50.0, 7.0, 30.0, has_alignment_heads=True)
ROUNDING = 1e-4

WINDOWS = {
    "none": {},
    "output": {"sinks": "1", "window": "3"},
    "speech": {"delay": "1", "window": "4", "rate": "3"},
    "both": {"delay": "1", "speech_window": "4", "rate": "3", "output_window": "3"},
    "streaming": {"sinks": "2", "window": "9"},
    "align": {"before": "2", "after": "3", "max_spread": "50", "min_mass": "0"},
    "align+output": {"before": "2", "after": "3", "window": "3"},
}
"""Policies by position, as small as the rows below."""

PROMPT, SUFFIX = 2, 1
REMAINDER = {
    "c3r": {"granularity": "8"},
    "c3": {"remainder": "true"},
    "quest": {"remainder": "true", "page": "4", "least_pages": "1"},
    "unique": {"remainder": "true", "page": "4", "least_pages": "1"},
    "clusterkv": {"remainder": "true", "cluster": "5"},
}


def drawn(seed: int, *sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def within_bound(
    keys: torch.Tensor,
    values: torch.Tensor,
    query: torch.Tensor,
    mixed: torch.Tensor,
    seen: torch.Tensor,
    tilt: torch.Tensor | None = None,
) -> None:
    """keys, values (entries, dim); query, mixed (dim,); seen (entries,): p' of one head.

    tilt (dim,): what the query adds for all of the softmax; the mix shows for how much of it.
    """
    k, v, own = keys.double(), values.double(), seen.double()
    p = torch.softmax(k @ query.double(), dim=0)
    assert own.sum() == pytest.approx(1.0, abs=ROUNDING)
    explained, most_added = own @ v, torch.zeros(())
    if tilt is not None:
        added, whole = mixed.double() - explained, tilt.double()
        share = (added @ whole) / whole.square().sum().clamp(min=1e-30)
        assert share * whole.norm() >= -ROUNDING
        assert share <= 1 + ROUNDING / float(whole.norm().clamp(min=ROUNDING))
        explained, most_added = explained + share * whole, (share * whole).norm()
    assert torch.allclose(explained, mixed.double(), atol=ROUNDING), "p' explains the mix"
    covered = torch.minimum(p, own).sum()
    error = (p @ v - mixed.double()).norm()
    assert error <= (1 - covered) * torch.cdist(v, v).max() + most_added + ROUNDING


def test_policies_by_position_are_all_here() -> None:
    assert set(WINDOWS) == {name for name in POLICIES if name.partition("+")[0] not in RETRIEVAL}


@pytest.mark.parametrize("name", sorted(WINDOWS))
@given(
    seed=st.integers(0, 10**6),
    speech=st.integers(1, 30),
    step=st.integers(1, 20),
    place=st.none() | st.floats(0, 30),
    sharpness=st.sampled_from([0.3, 1.0, 3.0]),
)
@settings(deadline=None, max_examples=40)
def test_error_when_windows_are_read_then_within_the_bound(
    name: str, seed: int, speech: int, step: int, place: float | None, sharpness: float
) -> None:
    focus = None if place is None else Focus(min(place, speech - 1.0), 1.0, 1.0)
    row = RowView(step, speech, step, PROMPT, SUFFIX, focus)
    selection = build_policy(name, WINDOWS[name], RATES).select(row)
    assert selection.speech is not None
    output = PROMPT + speech + SUFFIX
    read = merge_ranges(
        (0, PROMPT),
        *_moved(selection.speech, PROMPT),
        (PROMPT + speech, output),
        *_moved(selection.output, output),
    )
    entries = output + step
    arena = KvArena(ArenaShape(1, 1, 1, entries, DIM, torch.float32, CPU))
    arena.keys[0, 0, 0], arena.values[0, 0, 0] = (
        drawn(seed, entries, DIM),
        drawn(seed + 1, entries, DIM),
    )
    query = sharpness * drawn(seed + 2, 1, 1, DIM)
    mixed, seen = attend(
        query, arena.keys[0], arena.values[0], select(arena, [0], [read]), probe_heads=[0]
    )
    assert seen is not None
    assert {n for n in range(entries) if seen[0, 0, n] > 0} <= _entries(read)
    within_bound(arena.keys[0, 0, 0], arena.values[0, 0, 0], query[0, 0], mixed[0, 0], seen[0, 0])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in sorted(set(RETRIEVAL) - {"c3r"})),
        *sorted(REMAINDER.items()),
        ("c3r", {"granularity": "8", "second_order": "false", "reach": "0"}),
    ],
    ids=str,
)
@given(
    seed=st.integers(0, 10**6),
    entries=st.integers(20, 60),
    budget=st.integers(1, 19),
    group=st.sampled_from([1, 3]),
    steps=st.integers(1, 3),
    sharpness=st.sampled_from([0.3, 1.0, 3.0]),
)
@settings(deadline=None, max_examples=25)
def test_error_when_an_index_chooses_then_within_the_bound(
    name: str,
    options: dict[str, str],
    seed: int,
    entries: int,
    budget: int,
    group: int,
    steps: int,
    sharpness: float,
) -> None:
    """Beside the speech the row reads the first two of three entries of its own."""
    keys, values = drawn(seed, 1, 2, entries, DIM), drawn(seed + 1, 1, 2, entries, DIM)
    observed = drawn(seed + 2, 1, 4, 2 * group, DIM) if name in OBSERVING else None
    speech = IndexedSpeech(name, keys, values, budget=budget, prompt=observed, **options)
    arena, own = speech.arena, 3
    arena.keys[:, 1, :, :own], arena.values[:, 1, :, :own] = drawn(seed + 3, 2, 2, own, DIM)[
        :, None
    ]
    for step in range(1, steps + 1):
        query = sharpness * drawn(seed + 3 + step, 1, 2 * group, DIM)
        rows = speech.rows(step)
        mixed, seen = RetrievalStep(rows.slots, [((0, own - 1),)], range(1), rows).attend(
            speech.index,
            0,
            query,
            arena.keys[0],
            arena.values[0],
            probe_heads=range(2 * group),
        )
        assert seen is not None
        for head in range(2 * group):
            kv_head = head // group
            # Of the arena only its own entries: the index may have rewritten the speech.
            k, v = (
                torch.cat([cache[0, 1, kv_head, :own], part[0, kv_head]])
                for cache, part in ((arena.keys, keys), (arena.values, values))
            )
            tilt = None
            if name == "c3r" and "second_order" not in options:
                assert isinstance(speech.index, C3Index)
                spread = speech.index.table.second_order
                assert spread is not None
                tilt = query[0, head] @ spread.tilts[0, 1, kv_head]
            within_bound(k, v, query[0, head], mixed[0, head], seen[0, head, : own + entries], tilt)


OBSERVING = ("h2o", "snapkv", "pyramidkv", "chunkkv", "voxzip")
"""Policies that are shown the prompt."""


def _moved(ranges: tuple[Range, ...], by: int) -> list[Range]:
    return [(start + by, end + by) for start, end in ranges]


def _entries(ranges: tuple[Range, ...]) -> set[int]:
    return {entry for start, end in ranges for entry in range(start, end)}
