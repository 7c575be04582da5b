"""Attention over any legal selection equals the float64 reference, compiled or not."""

from __future__ import annotations

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_kernels import Ranges, Selection, decode_attention, step_ranges
from murmur_kernels.reference.decode_attention import decode_attention_reference
from murmur_kernels.torch_ops.decode_attention import (
    attention_over_ranges,
    attention_over_selection,
)
from support.attention_case import Head, Row, make_case

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


@st.composite
def heads(draw: st.DrawFn) -> Head:
    """Any ranges and entries, in any order and more than once, and summaries."""
    edges = st.tuples(st.integers(0, CAPACITY), st.integers(0, CAPACITY)).map(sorted)
    ranges = draw(st.lists(edges.map(tuple), max_size=7))
    indices = draw(st.lists(st.integers(0, CAPACITY - 1), max_size=20))
    return Head(ranges, indices, draw(st.integers(0, 12)))


@settings(deadline=None, max_examples=60)
@given(
    shared=st.lists(st.one_of(st.just(()), selections()), min_size=1, max_size=3),
    per_head=st.lists(heads(), min_size=6, max_size=6),
    inactive=st.integers(0, 5),
    dtype=st.sampled_from([torch.float32, torch.float16, torch.bfloat16]),
    group=st.sampled_from([1, 3]),
    seed=st.integers(0, 1000),
)
def test_attention_when_terms_of_every_kind_then_within_the_bound_of_the_reference(
    shared: list[Ranges],
    per_head: list[Head],
    inactive: int,
    dtype: torch.dtype,
    group: int,
    seed: int,
) -> None:
    rows = [
        Row(number, spans, per_head[2 * number : 2 * number + 2], active=number != inactive)
        for number, spans in enumerate(shared)
    ]
    case = make_case(
        rows, ratio=group, dim=24, capacity=CAPACITY, dtype=dtype, max_terms=600, seed=seed
    )
    limits = case.largest_errors(weights=torch.float32, exact=True)
    nothing = case.wanted.log_sum_exp == -math.inf
    for attend in (decode_attention, attention_over_selection):
        found = attend(
            *(case.query, case.keys, case.values, case.selection, case.scale, range(2 * group)),
            log_sum_exp=True,
        )
        assert found.log_sum_exp is not None
        assert found.probabilities is not None
        assert torch.equal(found.log_sum_exp == -math.inf, nothing)
        log_sums, wanted = (
            sums.double().masked_fill(nothing, 0)
            for sums in (found.log_sum_exp, case.wanted.log_sum_exp)
        )
        assert ((found.out - case.wanted.out).abs() <= limits[0]).all()
        assert ((log_sums - wanted).abs() <= limits[1].masked_fill(nothing, 0)).all()
        off = (found.probabilities - case.wanted.probabilities).abs()
        assert (off <= limits[2].nan_to_num(0.0)).all()
