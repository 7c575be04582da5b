"""`decode_attention` against the float64 reference on the same, already rounded, inputs."""

from __future__ import annotations

import math

import pytest
import torch

from murmur_kernels import decode_attention
from murmur_kernels.decode_attention import Ranges
from murmur_kernels.reference.decode_attention import decode_attention_reference

SIZES = (1, 15, 16, 17, 99)
SLOTS = 5


def make_case(
    *,
    rows: int = 3,
    kv_heads: int = 2,
    ratio: int = 1,
    dim: int = 64,
    capacity: int = 104,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query (rows, heads, dim), keys and values (slots, kv_heads, capacity, dim), rounded."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(rows, kv_heads * ratio, dim, generator=generator)
    keys = torch.randn(SLOTS, kv_heads, capacity, dim, generator=generator)
    values = torch.randn(SLOTS, kv_heads, capacity, dim, generator=generator)
    return query.to(dtype), keys.to(dtype), values.to(dtype)


def poison_unread(
    keys: torch.Tensor, values: torch.Tensor, slots: list[int], ranges: list[Ranges]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Copies in which every entry that no row selects is NaN."""
    keep = torch.zeros(keys.shape[0], keys.shape[2], dtype=torch.bool)
    for slot, spans in zip(slots, ranges, strict=True):
        for start, end in spans:
            keep[slot, start:end] = True
    unread = ~keep[:, None, :, None]
    return keys.masked_fill(unread, math.nan), values.masked_fill(unread, math.nan)


def bound(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, entries: int, scale: float
) -> float:
    """Largest error that rounding to the dtype explains.

    A score is a sum of `dim` products, each and each partial sum rounded: an error of
    ulp * dim * |score terms| at the worst, here with their root-mean-square growth sqrt(dim).
    It shifts a probability by as much, relatively. The mix of values adds one ulp of the value
    for each of log2(entries) partial sums (products are summed pairwise or wider) and its ranges.
    """
    ulp = torch.finfo(query.dtype).eps
    dim = query.shape[2]
    largest_q, largest_k = query.abs().max().item(), keys.nan_to_num().abs().max().item()
    largest_v = values.nan_to_num().abs().max().item()
    score_error = ulp * math.sqrt(dim) * largest_q * largest_k * abs(scale)
    return largest_v * (2 * score_error + ulp * (4 + math.log2(entries)))


def check(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: list[int],
    ranges: list[Ranges],
    scale: float | None = None,
) -> torch.Tensor:
    """Run the op on a poisoned arena and compare with the reference; the op's result."""
    scale = query.shape[2] ** -0.5 if scale is None else scale
    keys, values = poison_unread(keys, values, slots, ranges)
    out, probes = decode_attention(query, keys, values, slots, ranges, scale)
    assert probes == []
    assert out.dtype == query.dtype
    wanted = decode_attention_reference(query, keys, values, slots, ranges, scale)
    longest = max(sum(end - start for start, end in spans) for spans in ranges)
    error = (out.double() - wanted).abs().max().item()
    assert error <= bound(query, keys, values, longest, scale), error
    return out


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("entries", SIZES)
def test_one_range_when_of_any_size_then_equals_reference(entries: int, dtype: torch.dtype) -> None:
    query, keys, values = make_case(dtype=dtype)
    check(query, keys, values, [0, 1, 2], [((3, 3 + entries),)] * 3)


@pytest.mark.parametrize("dim", [64, 80, 128])
@pytest.mark.parametrize("ratio", [1, 4, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_grouped_heads_when_rows_differ_in_ranges_then_equal_reference(
    dtype: torch.dtype, ratio: int, dim: int
) -> None:
    query, keys, values = make_case(ratio=ratio, dim=dim, dtype=dtype)
    ranges: list[Ranges] = [((0, 17),), ((0, 4), (20, 99)), ((1, 2), (5, 6), (7, 30), (50, 51))]
    check(query, keys, values, [0, 1, 2], ranges)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_ranges_when_touching_then_same_as_their_union(dtype: torch.dtype) -> None:
    query, keys, values = make_case(dtype=dtype)
    split = check(query, keys, values, [0, 1, 2], [((2, 9), (9, 10), (10, 40))] * 3)
    whole = check(query, keys, values, [0, 1, 2], [((2, 40),)] * 3)
    ulp = torch.finfo(dtype).eps
    # Three partial mixes are rounded to the dtype instead of one.
    assert (split - whole).abs().max() <= 3 * ulp * values.abs().max()


@pytest.mark.parametrize("slots", [[4, 0, 2], [0, 2, 4], [1, 2, 4], [3, 2, 1]])
def test_rows_when_in_non_consecutive_slots_then_each_reads_its_own(slots: list[int]) -> None:
    query, keys, values = make_case()
    check(query, keys, values, slots, [((0, 9), (30, 47))] * 3)


def test_rows_when_computed_together_then_same_as_alone() -> None:
    query, keys, values = make_case(ratio=4)
    ranges: list[Ranges] = [((0, 5), (8, 50))] * 2 + [((0, 5), (9, 50))]
    together, _ = decode_attention(query, keys, values, [1, 2, 3], ranges, 0.125)
    for row, slot in enumerate([1, 2, 3]):
        alone, _ = decode_attention(
            query[row : row + 1], keys, values, [slot], [ranges[row]], 0.125
        )
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=1e-6)


def test_arena_when_strided_then_equals_reference() -> None:
    query, keys, values = make_case(capacity=104)
    # (slots, capacity, heads, dim) in memory: neither slots nor heads can be folded into one.
    keys = keys.transpose(1, 2).contiguous().transpose(1, 2)
    values = values.transpose(1, 2).contiguous().transpose(1, 2)
    check(query, keys, values, [0, 1, 3], [((0, 9), (30, 47))] * 3)


def test_scores_when_extreme_then_finite_and_equal_reference() -> None:
    query, keys, values = make_case(rows=1)
    scale = 1e4 / (query[0, 0] @ keys[0, 0, 0]).abs().item()
    check(query, keys, values, [0], [((0, 40),)], scale)


def test_single_entry_when_selected_then_its_value_comes_back() -> None:
    query, keys, values = make_case(ratio=4)
    out, _ = decode_attention(query, keys, values, [0, 1, 2], [((7, 8),)] * 3, 1.0)
    assert torch.equal(out, values[:3, :, 7].repeat_interleave(4, dim=1))


def test_probes_when_asked_then_softmax_of_their_heads() -> None:
    query, keys, values = make_case(ratio=4, kv_heads=2)
    ranges: list[Ranges] = [((0, 3), (90, 99)), ((5, 6),), ((0, 20),)]
    _, probes = decode_attention(query, keys, values, [4, 0, 1], ranges, 0.125, (6, 1))
    for row, slot in enumerate([4, 0, 1]):
        entries = [j for start, end in ranges[row] for j in range(start, end)]
        for place, head in enumerate((6, 1)):
            scores = keys[slot, head // 4, entries].double() @ query[row, head].double() * 0.125
            wanted = torch.softmax(scores, dim=0)
            torch.testing.assert_close(probes[row][place].double(), wanted, rtol=1e-5, atol=1e-7)
        assert probes[row].dtype == torch.float32


def test_probes_when_bf16_then_float32_and_sum_to_one() -> None:
    query, keys, values = make_case(dtype=torch.bfloat16)
    _, probes = decode_attention(query, keys, values, [0, 1, 2], [((0, 50),)] * 3, 0.125, (0,))
    for probabilities in probes:
        assert probabilities.dtype == torch.float32
        torch.testing.assert_close(probabilities.sum(1), torch.ones(1), rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([((0, 5),)] * 2, "3 rows need 3 range lists, got 2"),
        ([((0, 5),), (), ((0, 5),)], "row 1 selects no entry"),
        ([((0, 5),), ((4, 4),), ((0, 5),)], r"row 1: range \(4, 4\) is empty"),
        ([((0, 5),), ((0, 5), (4, 9)), ((0, 5),)], r"row 1: range \(4, 9\)"),
        ([((0, 5),), ((6, 9), (0, 5)), ((0, 5),)], r"row 1: range \(0, 5\)"),
        ([((0, 5),), ((0, 105),), ((0, 5),)], r"range \(0, 105\) .* beyond 104"),
        ([((0, 5),), ((-1, 5),), ((0, 5),)], r"row 1: range \(-1, 5\)"),
    ],
)
def test_ranges_when_wrong_then_value_error_names_them(ranges: list[Ranges], message: str) -> None:
    query, keys, values = make_case()
    with pytest.raises(ValueError, match=message):
        decode_attention(query, keys, values, [0, 1, 2], ranges, 1.0)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([0, 1], "3 rows need 3 slots, got 2"),
        ([0, 1, 5], "slot 5 is outside the arena of 5 slots"),
        ([0, -1, 2], "slot -1 is outside"),
    ],
)
def test_slots_when_wrong_then_value_error_names_them(slots: list[int], message: str) -> None:
    query, keys, values = make_case()
    with pytest.raises(ValueError, match=message):
        decode_attention(query, keys, values, slots, [((0, 5),)] * 3, 1.0)


def test_shapes_when_they_do_not_fit_then_value_error_names_sizes() -> None:
    query, keys, values = make_case()
    call = ([0, 1, 2], [((0, 5),)] * 3, 1.0)
    with pytest.raises(ValueError, match="want query"):
        decode_attention(query[0], keys, values, *call)
    with pytest.raises(ValueError, match="equal keys and values"):
        decode_attention(query, keys, values[:, :, :9], *call)
    with pytest.raises(ValueError, match="2 query heads of size 32 do not fit 2 KV heads"):
        decode_attention(query[:, :, :32], keys, values, *call)
    with pytest.raises(ValueError, match="3 query heads of size 64 do not fit 2 KV heads"):
        decode_attention(query[:, [0, 1, 1]], keys, values, *call)
