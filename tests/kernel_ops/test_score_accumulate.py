"""`score_accumulate` against the float64 reference, and the sums it stands for by hand."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from murmur_kernels import score_accumulate
from murmur_kernels.reference.score_accumulate import score_accumulate_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

UNIT = 2.0**-24
SLOTS = 4
Reduce = Literal["sum", "mean", "max"]


@pytest.fixture(params=KERNEL_PATHS, autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch, "score_accumulate")


def int32(values: object, device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def check(
    device: torch.device,
    counts: list[list[int]],
    *,
    size: int,
    group: int = 1,
    dim: int = 16,
    queries: int = 1,
    dtype: torch.dtype = torch.float32,
    decay: float = 0.95,
    reduce: Reduce = "sum",
    listed: bool = True,
    starts: list[int] | None = None,
    limits: list[list[int]] | None = None,
    spread: float = 1.0,
) -> None:
    """Against the reference; entries that nobody lists are NaN, and padding points at them."""
    rows, heads = len(counts), len(counts[0])
    capacity = size + 9
    slots = [(2 * row + 1) % SLOTS for row in range(rows)]
    scale = dim**-0.5
    query = torch.randn(rows, queries, heads * group, dim) * spread
    keys = torch.full((SLOTS, heads, capacity, dim), math.nan)
    indices = torch.zeros(rows, heads, size, dtype=torch.int32)
    entries: list[list[list[int]]] = []
    for row in range(rows):
        entries.append([])
        for head in range(heads):
            if listed:
                places = torch.randperm(capacity)
            else:
                places = torch.arange(capacity) + (starts[row] if starts else 0)
            indices[row, head] = places[:size]
            entries[row].append(places[: counts[row][head]].tolist())
            keys[slots[row], head, entries[row][head]] = (
                torch.randn(counts[row][head], dim) * spread
            )
    keys = keys.to(dtype)
    exact = keys.double().nan_to_num(0.0)
    logits = torch.zeros(rows, queries, heads * group, capacity, dtype=torch.float64)
    for row in range(rows):
        k = exact[slots[row]].repeat_interleave(group, dim=0)
        logits[row] = torch.einsum("tid,ijd->tij", query[row].double(), k) * scale
    lse = logits.logsumexp(dim=3).float()
    scores = torch.rand(rows, heads, size)
    got = scores.to(device, copy=True)
    score_accumulate(
        query.to(device),
        keys.to(device),
        int32(slots, device),
        lse.to(device),
        got,
        int32(counts, device),
        scale=scale,
        decay=decay,
        reduce=reduce,
        indices=indices.to(device) if listed else None,
        starts=None if starts is None else int32(starts, device),
        limits=None if limits is None else int32(limits, device),
    )
    wanted = score_accumulate_reference(
        query, keys, slots, lse, scores, entries, scale, decay, reduce, limits
    )
    # An error of the exponent is a relative error of a probability; sums over group and queries.
    largest = scale * query.norm(dim=3).max() * exact.abs().max() * dim**0.5
    exponent = (dim + 8) * UNIT * (float(largest) + float(lse.abs().max()))
    bound = (exponent + (group + queries + 8) * UNIT) * wanted.abs()
    assert ((got.double().cpu() - wanted).abs() <= bound).all()


@pytest.mark.parametrize("size", [1, 15, 16, 17, 99])
def test_list_when_of_any_length_then_equals_reference(device: torch.device, size: int) -> None:
    check(device, [[size, 1]], size=size)


def test_list_when_long_then_equals_reference(device: torch.device) -> None:
    check(device, [[1025]], size=1025, dim=8)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max"])
@pytest.mark.parametrize("group", [1, 4, 7])
def test_grouped_heads_when_counts_differ_then_equal_reference(
    device: torch.device, group: int, reduce: Reduce
) -> None:
    check(device, [[9, 0], [3, 12]], size=12, group=group, reduce=reduce, queries=2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_keys_when_of_lower_precision_then_equal_reference(
    device: torch.device, dtype: torch.dtype
) -> None:
    check(device, [[9, 7]], size=12, dim=80, dtype=dtype, group=2)


def test_region_when_given_then_equals_reference(device: torch.device) -> None:
    check(device, [[9, 9], [4, 4]], size=12, listed=False, starts=[0, 7], queries=3)
    check(device, [[5], [5]], size=5, listed=False)


def test_queries_when_causal_then_no_entry_receives_from_before_it(device: torch.device) -> None:
    check(device, [[10, 8]], size=10, listed=False, queries=4, limits=[[5, 0, 7, 10]], decay=0.5)


def test_logits_when_extreme_then_equal_reference(device: torch.device) -> None:
    check(device, [[40, 3]], size=40, spread=30.0)


def test_rows_when_by_hand_then_decayed_sum(device: torch.device) -> None:
    # Attention (1, 0), then (0.5, 0.5, 0): decay 0.95 gives (1.45, 0.5, 0).
    keys = torch.tensor([[0.0], [-200.0], [-200.0]], device=device)[None, None]
    scores = torch.zeros(1, 1, 3, device=device)
    for query, lse, count in ((1.0, 0.0, 2), (0.0, math.log(2), 2)):
        score_accumulate(
            torch.tensor([[[[query]]]], device=device),
            keys,
            int32([0], device),
            torch.tensor([[[lse]]], device=device),
            scores,
            int32([[count]], device),
            scale=1.0,
            decay=0.95,
            reduce="sum",
        )
    torch.testing.assert_close(scores.cpu(), torch.tensor([[[1.45, 0.5, 0.0]]]))


def test_increments_when_no_decay_then_add_up_to_one_per_query(device: torch.device) -> None:
    query, keys = torch.randn(1, 3, 4, 8, device=device), torch.randn(2, 2, 20, 8, device=device)
    lse = torch.einsum("tid,ijd->tij", query[0], keys[1].repeat_interleave(2, 0)).logsumexp(2)[None]
    scores = torch.zeros(1, 2, 20, device=device)
    arguments = (query, keys, int32([1], device), lse, scores, int32([[20, 20]], device))
    score_accumulate(*arguments, scale=1.0, decay=1.0, reduce="mean")
    torch.testing.assert_close(scores.sum(dim=2).cpu(), torch.full((1, 2), 3.0))


def test_queries_when_together_or_one_by_one_then_same(device: torch.device) -> None:
    query, keys = torch.randn(1, 3, 2, 8, device=device), torch.randn(2, 2, 20, 8, device=device)
    lse = torch.randn(1, 3, 2, device=device) + 5
    together = torch.rand(1, 2, 20, device=device)
    apart = together.clone()
    rest = (int32([1], device), int32([[20, 11]], device))
    score_accumulate(
        query, keys, rest[0], lse, together, rest[1], scale=1.0, decay=0.8, reduce="sum"
    )
    for t in range(3):
        now = slice(t, t + 1)
        score_accumulate(
            query[:, now],
            keys,
            rest[0],
            lse[:, now],
            apart,
            rest[1],
            scale=1.0,
            decay=0.8,
            reduce="sum",
        )
    torch.testing.assert_close(together, apart)


def test_rows_when_inactive_then_scores_stay(device: torch.device) -> None:
    scores = torch.full((2, 1, 5), -77.0, device=device)
    score_accumulate(
        torch.randn(2, 1, 1, 4, device=device),
        torch.randn(2, 1, 5, 4, device=device),
        int32([9, 1], device),
        torch.zeros(2, 1, 1, device=device),
        scores,
        int32([[5], [5]], device),
        scale=1.0,
        decay=0.0,
        reduce="sum",
        active=torch.tensor([False, True], device=device),
    )
    assert (scores[0] == -77).all()
    assert (scores[1] > 0).all()


def test_views_when_given_then_strides_are_kept(device: torch.device) -> None:
    query = torch.randn(2, 2, 2, 8, device=device)
    keys = torch.randn(2, 2, 6, 8, device=device)
    lse = torch.randn(2, 2, 2, device=device)
    counts = int32([[6, 4], [5, 6]], device)
    slots = int32([1, 0], device)
    plain = torch.rand(2, 2, 6, device=device)
    turned = plain.mT.contiguous().mT
    score_accumulate(query, keys, slots, lse, plain, counts, scale=1.0, decay=0.5, reduce="sum")
    score_accumulate(
        query.transpose(1, 3).contiguous().transpose(1, 3),
        keys.transpose(1, 2).contiguous().transpose(1, 2),
        slots,
        lse.mT.contiguous().mT,
        turned,
        counts.mT.contiguous().mT,
        scale=1.0,
        decay=0.5,
        reduce="sum",
    )
    torch.testing.assert_close(turned, plain)


def test_arguments_when_they_do_not_fit_then_value_error_names_them(device: torch.device) -> None:
    query, keys = torch.zeros(1, 1, 2, 4, device=device), torch.zeros(1, 2, 5, 4, device=device)
    scores, counts = torch.zeros(1, 2, 5, device=device), int32([[5, 5]], device)
    lse, slots = torch.zeros(1, 1, 2, device=device), int32([0], device)
    indices = torch.zeros(1, 2, 5, dtype=torch.int32, device=device)
    arguments = (query, keys, slots, lse, scores, counts)
    with pytest.raises(ValueError, match="indices of a list or starts of a region, got both"):
        score_accumulate(
            *arguments, scale=1.0, decay=1.0, reduce="sum", indices=indices, starts=slots
        )
    with pytest.raises(ValueError, match="want limits of shape"):
        score_accumulate(*arguments, scale=1.0, decay=1.0, reduce="sum", limits=slots)
