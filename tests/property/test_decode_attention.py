"""Attention over any legal selection equals the float64 reference, compiled or not."""

from __future__ import annotations

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_kernels import Ranges, Selection, decode_attention, step_ranges
from murmur_kernels.reference.decode_attention import decode_attention_reference
from murmur_kernels.torch_ops.decode_attention import attention_over_ranges

CAPACITY = 70


@st.composite
def selections(draw: st.DrawFn) -> Ranges:
    """One to six ascending, disjoint ranges."""
    number = draw(st.integers(1, 6))
    edges = draw(
        st.lists(
            st.integers(0, CAPACITY), min_size=2 * number, max_size=2 * number, unique=True
        ).map(sorted)
    )
    return tuple(zip(edges[::2], edges[1::2], strict=True))


@settings(deadline=None, max_examples=60)
@given(
    ranges=st.lists(selections(), min_size=1, max_size=4),
    dtype=st.sampled_from([torch.float32, torch.float16, torch.bfloat16]),
    group=st.sampled_from([1, 3]),
    scale=st.sampled_from([0.1, 1.0, -2.0]),
    seed=st.integers(0, 1000),
)
def test_attention_when_selection_is_legal_then_equals_reference_and_reads_nothing_else(
    ranges: list[Ranges], dtype: torch.dtype, group: int, scale: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    rows = len(ranges)
    slots = torch.randperm(5, generator=generator)[:rows].tolist()
    query = torch.randn(rows, 2 * group, 24, generator=generator)
    keys, values = torch.randn(2, 5, 2, CAPACITY, 24, generator=generator).to(dtype)
    unread = torch.ones(5, 1, CAPACITY, 1, dtype=torch.bool)
    for slot, spans in zip(slots, ranges, strict=True):
        for start, end in spans:
            unread[slot, :, start:end] = False
    keys, values = keys.masked_fill(unread, math.nan), values.masked_fill(unread, math.nan)
    step = step_ranges(slots, ranges, num_slots=5, capacity=CAPACITY)
    selection = Selection.from_step_ranges(step, torch.device("cpu"))
    wanted = decode_attention_reference(query, keys, values, selection, scale).out
    for attend in (decode_attention, attention_over_ranges):
        out, seen, _ = attend(query, keys, values, step, scale, (0,))
        assert seen is not None
        assert ((out - wanted).abs().max() / wanted.abs().max()).item() < 1e-5
        torch.testing.assert_close(seen.sum(2), torch.ones(rows, 1), rtol=0, atol=1e-5)
        for row, slot in enumerate(slots):
            assert not seen[row, 0, unread[slot, 0, :, 0]].any()
