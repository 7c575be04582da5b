"""`decode_attention` over a `Selection`: on torch, machine code, Triton interpreted and compiled.

Interpreted and compiled kernels are launched with small tiles and several splits, so that few
terms reach every part of them.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import pytest
import torch

from murmur_kernels import (
    Attended,
    SecondOrder,
    Selection,
    decode_attention,
    decode_attention_path,
    step_ranges,
)
from support.attention_case import NONSENSE, Case, Head, Row, make_case
from support.kernel_paths import KERNEL_PATHS, kernel_device

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
SENTINEL = -77.0


CPU = torch.device("cpu")
ON_HOST = ("torch", "machine code")
"""Paths of the CPU, which refuse what does not fit the arena."""


@pytest.fixture(params=["machine code", *KERNEL_PATHS], autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The implementation that a test runs on."""
    kernel_device(request.param, monkeypatch, "decode_attention")
    if request.param == "torch":
        monkeypatch.setitem(sys.modules, "murmur_kernels.compiled.machine_code", None)
    elif request.param == "machine code" and decode_attention_path(CPU, DTYPES[0], 64) == "torch":
        pytest.skip("this processor has no compiled attention (needs AVX2, FMA and F16C)")
    return str(request.param)


@pytest.fixture
def device(path: str) -> torch.device:
    return torch.device("cuda" if path == "compiled" else "cpu")


def attend(path: str, case: Case, *, block: int = 16, splits: int = 3) -> Attended:
    """All results; those of kernels are written over a sentinel, within margins that stay."""
    rows, heads, dim = case.query.shape
    if path in ON_HOST:
        return decode_attention(
            *(case.query, case.keys, case.values, case.selection, case.scale, range(heads)),
            log_sum_exp=True,
        )
    from murmur_kernels.triton_kernels.decode_attention import triton_attention

    terms = case.selection.terms_bound(case.keys.shape[2])
    out = case.query.new_full((rows + 2, heads, dim + 3), SENTINEL)
    lse = torch.full((rows + 2, heads), SENTINEL, device=case.query.device)
    seen = torch.full((rows + 2, heads, terms), SENTINEL, device=case.query.device)
    triton_attention(
        *(case.query, case.keys, case.values, case.selection, case.scale),
        out=out[1:-1, :, :dim],
        lse=lse[1:-1],
        probabilities=seen[1:-1],
        block=block,
        splits=splits,
    )
    for tensor in (out, lse, seen):
        assert (tensor[[0, -1]] == SENTINEL).all()
    assert (out[..., dim:] == SENTINEL).all()
    return Attended(out[1:-1, :, :dim], seen[1:-1], lse[1:-1])


def check(path: str, case: Case, *, block: int = 16, splits: int = 3) -> Attended:
    """Every result within `Case.largest_errors` of the reference."""
    found = attend(path, case, block=block, splits=splits)
    assert found.out.dtype == case.query.dtype
    grouped = case.query.shape[1] > case.keys.shape[1]
    halves = path not in ON_HOST and grouped and case.query.dtype == case.keys.dtype
    # Triton's interpreter cuts to bfloat16 where a GPU rounds.
    exact = path != "interpreted" or torch.bfloat16 not in (case.query.dtype, case.keys.dtype)
    limits = case.largest_errors(weights=case.keys.dtype if halves else torch.float32, exact=exact)
    wanted = case.wanted
    assert found.probabilities is not None
    assert found.log_sum_exp is not None
    nothing = wanted.log_sum_exp == -math.inf
    assert (found.log_sum_exp[nothing] == -math.inf).all()
    assert (found.out[nothing] == 0).all()
    log_sums = found.log_sum_exp.double().masked_fill(nothing, 0)
    for name, result, reference, limit in (
        ("out", found.out.double(), wanted.out, limits[0]),
        ("log-sum-exp", log_sums, wanted.log_sum_exp.masked_fill(nothing, 0), limits[1]),
        ("probabilities", found.probabilities.double(), wanted.probabilities, limits[2]),
    ):
        limit = limit.nan_to_num(0.0) if name != "out" else limit
        excess = ((result - reference).abs() / limit.clamp_min(1e-38)).max().item()
        assert excess <= 1, f"{name} is off by {excess:.2f} of what is allowed"
    return found


# --- sizes, dtypes, heads -----------------------------------------------------------------------


@pytest.mark.parametrize("entries", [1, 15, 16, 17, 99, 1025])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_range_when_of_any_size_then_equals_reference(
    path: str, device: torch.device, dtype: torch.dtype, entries: int
) -> None:
    rows = [Row(2, [(3, 3 + entries)])]
    case = make_case(
        rows, kv_heads=1, ratio=4, capacity=entries + 5, dtype=dtype, query_dtype=dtype,
        device=device,
    )  # fmt: skip
    check(path, case, block=64 if entries > 99 else 16, splits=2)


@pytest.mark.parametrize("dim", [64, 80, 96, 128])
@pytest.mark.parametrize("ratio", [1, 4, 7, 8])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_grouped_heads_when_of_any_ratio_and_size_then_equal_reference(
    path: str, device: torch.device, dtype: torch.dtype, ratio: int, dim: int
) -> None:
    heads = [Head([(30, 33)], [5, 7, 2], summaries=2), Head([], [39])]
    rows = [Row(1, [(8, 20), (22, 23)], heads)]
    case = make_case(rows, ratio=ratio, dim=dim, dtype=dtype, query_dtype=dtype, device=device)
    check(path, case, splits=2)


@pytest.mark.parametrize("ratio", [1, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_query_when_float32_over_a_half_arena_then_only_the_arena_is_rounded(
    path: str, device: torch.device, dtype: torch.dtype, ratio: int
) -> None:
    rows = [Row(0, [(1, 30)], [Head([], [33], summaries=3), Head()])]
    check(path, make_case(rows, ratio=ratio, dtype=dtype, device=device))


def test_half_types_when_grouped_then_at_most_twice_the_error_of_torch(
    path: str, device: torch.device
) -> None:
    case = make_case(
        [Row(slot, [(0, 200)]) for slot in range(2)], ratio=7, dim=128, capacity=200,
        dtype=torch.float16, query_dtype=torch.float16, device=device,
    )  # fmt: skip
    found = check(path, case, block=64, splits=2)
    k, v = (cache[:2].repeat_interleave(7, dim=1) for cache in (case.keys, case.values))
    scores = (case.query[:, :, None] @ k.mT) * case.scale
    plain = (torch.softmax(scores, dim=3) @ v)[:, :, 0]
    errors = [(out.double() - case.wanted.out).norm() for out in (found.out, plain)]
    assert errors[0] <= 2 * errors[1]


# --- variants -----------------------------------------------------------------------------------

SIX = [(0, 3), (3, 4), (6, 17), (20, 21), (25, 31), (38, 40)]
VARIANTS = {
    "all entries": ([(0, 40)], [Head(), Head()]),
    "six ranges": (SIX, [Head(), Head()]),
    "head ranges": ([], [Head([(30, 39), (2, 3), (5, 20)]), Head([(7, 8)])]),
    "ranges and head ranges": ([(0, 2)], [Head([(30, 39), (2, 3), (5, 20)]), Head()]),
    "indices": ([], [Head([], [39, 0, 17, 3, *range(20, 33)]), Head([], [11])]),
    "ranges and indices": ([(0, 2), (36, 40)], [Head(), Head([], [*range(34, 4, -2)])]),
    "all of them": (SIX[:2], [Head([(9, 12)], [8, 6]), Head([(35, 37), (20, 34)], [18])]),
}


@pytest.mark.parametrize("summaries", [0, 1, 19])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("ratio", [1, 4])
def test_variant_when_with_and_without_summaries_then_equals_reference(
    path: str, device: torch.device, variant: str, summaries: int, ratio: int
) -> None:
    ranges, heads = VARIANTS[variant]
    heads = [replace(heads[0], summaries=summaries), replace(heads[1], summaries=summaries // 2)]
    check(path, make_case([Row(2, ranges, heads)], ratio=ratio, device=device), splits=2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("dim", "ratio"), [(16, 3), (64, 1), (64, 16)])
def test_second_order_when_beside_all_kinds_of_terms_then_equals_reference(
    path: str, device: torch.device, dim: int, ratio: int, dtype: torch.dtype
) -> None:
    heads = [Head([(30, 33)], [5, 7, 2], summaries=2), Head([], [39], summaries=19)]
    rows = [Row(0, [(3, 20)], heads), Row(2, [], heads[::-1]), Row(1, [(0, 9)])]
    case = make_case(
        [*rows, Row(3, [(0, 9)], heads, active=False)],
        ratio=ratio,
        dim=dim,
        dtype=dtype,
        device=device,
        second_order=True,
    )
    check(path, case)


def test_second_order_when_summaries_are_all_then_by_hand(path: str, device: torch.device) -> None:
    case = make_case([Row(0, [], [Head(summaries=2)])], kv_heads=1, device=device)
    means = case.selection.summaries
    assert means is not None
    means.log_counts[0, 0, :2] = torch.tensor([math.log(3), 0.0])
    means.keys[0, 0, :2] = 0.0
    means.values[0, 0, 0], means.values[0, 0, 1] = 1.0, -1.0
    case.query[:] = 0.0
    case.query[0, 0, 5] = 2.0
    deviations = torch.zeros(1, 1, means.keys.shape[2], device=device)
    # Of 2 * 1 * 1.5 the half square is 4.5, which is cut to 3.
    deviations[0, 0, 1] = 1.5
    tilts = torch.zeros(1, 1, 64, 64, device=device)
    tilts[0, 0, 5, 7] = 0.25
    spread = SecondOrder(deviations, tilts)
    selection = replace(case.selection, summaries=replace(means, second_order=spread))
    case = replace(case, selection=selection, scale=1.0)
    found = check(path, case)
    first, second = 3.0, math.exp(3.0)
    wanted = torch.full((64,), (first - second) / (first + second), dtype=torch.float64)
    wanted[7] += 2.0 * 0.25
    assert torch.allclose(found.out[0, 0].double().cpu(), wanted, atol=1e-6)
    assert found.log_sum_exp is not None
    assert abs(float(found.log_sum_exp[0, 0]) - math.log(first + second)) < 1e-6


@pytest.mark.parametrize("summaries", [1, 5, 40])
def test_summaries_when_they_are_all_then_equal_reference(
    path: str, device: torch.device, summaries: int
) -> None:
    rows = [Row(0, [], [Head(summaries=summaries), Head(summaries=1)])]
    check(path, make_case(rows, ratio=4, device=device))


def test_head_ranges_when_128_in_any_order_then_equal_reference(
    path: str, device: torch.device
) -> None:
    spans = [(start, start + start % 4) for start in range(0, 640, 5)]  # also empty ones
    heads = [Head(spans[::-1]), Head(spans[64:] + spans[:30])]
    case = make_case([Row(1, [(640, 650)], heads)], ratio=4, capacity=650, device=device)
    check(path, case, block=32)


def test_summary_when_of_one_entry_then_as_if_the_entry_were_selected(
    path: str, device: torch.device
) -> None:
    listed = make_case([Row(0, [(0, 9)], [Head([], [20]), Head([], [21])])], device=device)
    entries = torch.tensor([20, 21], device=device)
    heads = torch.arange(2, device=device)
    case = make_case([Row(0, [(0, 9)], [Head(summaries=1)] * 2)], device=device)
    means = case.selection.summaries
    assert means is not None
    means.keys[0, :, 0], means.values[0, :, 0] = (
        cache[0, heads, entries] for cache in (listed.keys, listed.values)
    )
    means.log_counts[0, :, 0] = 0
    found, wanted = attend(path, case), attend(path, listed)
    torch.testing.assert_close(found.out, wanted.out, rtol=0, atol=1e-6)
    torch.testing.assert_close(found.log_sum_exp, wanted.log_sum_exp, rtol=0, atol=1e-6)


def test_summary_when_of_no_entry_then_it_has_no_weight(path: str, device: torch.device) -> None:
    rows = [Row(0, [(0, 9)], [Head(summaries=2)] * 2), Row(1, [], [Head(summaries=1)] * 2)]
    case = make_case(rows, device=device)
    assert case.selection.summaries is not None
    case.selection.summaries.log_counts[:, :, 0] = -math.inf
    found = attend(path, case, splits=2)
    assert (found.out[1] == 0).all()
    assert found.log_sum_exp is not None
    assert (found.log_sum_exp[1] == -math.inf).all()
    assert found.probabilities is not None
    assert (found.probabilities[0, :, 9] == 0).all()
    assert (found.probabilities[1] == 0).all()
    torch.testing.assert_close(
        found.probabilities[0].sum(1), torch.ones(2, device=device), rtol=0, atol=1e-5
    )


# --- edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize("splits", [1, 2, 5])
def test_rows_when_of_unequal_length_then_equal_reference_in_any_number_of_splits(
    path: str, device: torch.device, splits: int
) -> None:
    rows = [Row(0, [(0, 40)]), Row(1, [(4, 5)]), Row(2), Row(3, [(7, 7), (9, 20)])]
    check(path, make_case(rows, kv_heads=1, ratio=4, device=device), splits=splits)


@pytest.mark.parametrize("splits", [1, 2])
def test_row_when_inactive_then_nothing_is_read_and_zero_comes_back(
    path: str, device: torch.device, splits: int
) -> None:
    heads = [Head([(5, 9)], [1], summaries=2)] * 2
    rows = [Row(1, [(0, 3)], heads), Row(NONSENSE, [(0, NONSENSE)], heads, active=False)]
    case = make_case(rows, device=device)
    for counts in (case.selection.num_ranges, case.selection.num_indices):
        assert counts is not None
        counts[1] = NONSENSE
    found = check(path, case, splits=splits)
    assert (found.out[1] == 0).all()


def test_heads_when_some_select_nothing_then_only_theirs_are_zero(
    path: str, device: torch.device
) -> None:
    rows = [Row(0, [], [Head([], [3]), Head()]), Row(1, [], [Head(), Head([(2, 2), (5, 8)])])]
    found = check(path, make_case(rows, ratio=4, device=device))
    empty = (found.out == 0).all(dim=2)
    assert empty.tolist() == [[False] * 4 + [True] * 4, [True] * 4 + [False] * 4]


@pytest.mark.parametrize("row", [Row(2, [(7, 8)]), Row(2, [], [Head([(7, 8)])] * 2),
                                 Row(2, [], [Head([], [7])] * 2)])  # fmt: skip
@pytest.mark.parametrize("ratio", [1, 4])
def test_list_when_of_one_entry_then_its_value_comes_back(
    path: str, device: torch.device, row: Row, ratio: int
) -> None:
    case = make_case([row], ratio=ratio, device=device)
    found = check(path, case)
    assert torch.equal(found.out[0], case.values[2, :, 7].repeat_interleave(ratio, dim=0))


def test_ranges_when_touching_then_same_as_their_union(path: str, device: torch.device) -> None:
    results = [
        check(path, make_case([Row(0, spans, heads)], ratio=4, device=device))
        for spans, heads in (
            ([(2, 9), (9, 10), (10, 40)], []),
            ([(2, 40)], []),
            ([(2, 9)], [Head([(9, 30), (30, 40)])] * 2),
            ([(2, 9)], [Head([(9, 20)], range(20, 40))] * 2),
        )
    ]
    for found in results:
        tolerance = 1e-6 if path == "torch" else 0.0
        torch.testing.assert_close(found.out, results[0].out, rtol=0, atol=tolerance)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("ratio", [1, 4])
def test_scores_when_extreme_then_finite_and_equal_reference(
    path: str, device: torch.device, ratio: int, sign: int
) -> None:
    heads = [Head([], [33, 2], summaries=3)] * 2
    case = make_case([Row(0, [(5, 30)], heads)], ratio=ratio, scale=sign * 1e3, device=device)
    assert case.wanted.magnitude.max() > 1e4
    assert check(path, case).out.isfinite().all()


def test_selected_entry_when_nan_then_so_is_the_result(path: str, device: torch.device) -> None:
    case = make_case([Row(0, [(0, 30)]), Row(1, [(0, 30)])], ratio=4, device=device)
    case.keys[1, 0, 20, 5] = math.nan
    nan = attend(path, case).out.isnan().all(dim=2)
    assert nan.tolist() == [[False] * 8, [True] * 4 + [False] * 4]


def test_rows_when_there_are_none_then_empty(path: str, device: torch.device) -> None:
    case = make_case([], device=device)
    found = attend(path, case)
    assert found.out.shape == (0, 2, 64)
    assert found.probabilities is not None
    assert found.probabilities.shape == (0, 2, 40)


# --- layouts ------------------------------------------------------------------------------------


def test_tensors_when_views_then_strides_are_kept(path: str, device: torch.device) -> None:
    heads = [Head([(30, 33)], [5, 7, 2], summaries=2), Head([(1, 2), (3, 9)], [39])]
    rows = [Row(1, [(8, 20), (22, 23)], heads), Row(3, [(0, 1)], heads[::-1])]
    case = make_case(rows, ratio=4, device=device)
    case.query = case.query.transpose(1, 2).contiguous().transpose(1, 2)
    case.keys = case.keys.transpose(1, 2).contiguous().transpose(1, 2)
    whole = torch.full((2, 6, 2, 43, 70), math.nan, device=device)
    whole[1, 1:5, :, 3:, 6:] = case.values
    case.values = whole[1, 1:5, :, 3:, 6:]
    chosen, means = case.selection, case.selection.summaries
    assert means is not None
    assert chosen.head_ranges is not None
    assert chosen.indices is not None
    case.selection = replace(
        chosen,
        slots=_spread(chosen.slots, 0),
        active=_spread(chosen.active, 0),
        ranges=_spread(chosen.ranges, 0),
        num_ranges=_spread(chosen.num_ranges, 0),
        head_ranges=_spread(chosen.head_ranges, 1),
        num_head_ranges=_spread(chosen.num_head_ranges, 1),
        indices=_spread(chosen.indices, 1),
        num_indices=_spread(chosen.num_indices, 0),
        summaries=replace(
            means,
            keys=_spread(means.keys, 2),
            values=_spread(means.values, 1),
            log_counts=_spread(means.log_counts, 2),
            counts=_spread(means.counts, 1),
        ),
    )
    check(path, case)


def _spread(tensor: torch.Tensor | None, axis: int) -> torch.Tensor:
    """The same numbers, every second along an axis of a tensor that has others between."""
    assert tensor is not None
    return torch.stack([tensor, torch.zeros_like(tensor)], axis + 1).flatten(
        axis, axis + 1
    )[(slice(None),) * axis + (slice(0, None, 2),)]  # fmt: skip


def test_rows_when_in_other_company_and_order_then_bits_are_the_same(
    path: str, device: torch.device
) -> None:
    heads = [Head([(30, 33)], [5, 7, 2], summaries=2), Head([], [39])]
    rows = [Row(1, [(8, 20)], heads), Row(1, [(0, 5)]), Row(3, [(0, 4), (10, 29)], heads[::-1])]
    case = make_case(rows, ratio=4, device=device)
    together = attend(path, case, splits=2)
    again = attend(path, case, splits=2)
    assert torch.equal(again.out, together.out)
    for row in range(3):
        one = slice(row, row + 1)
        means = case.selection.summaries
        assert means is not None
        tables = {
            name: tensor[one]
            for name in ("slots", "active", "ranges", "num_ranges", "head_ranges",
                         "num_head_ranges", "indices", "num_indices")
            if (tensor := getattr(case.selection, name)) is not None
        }  # fmt: skip
        means = replace(means, keys=means.keys[one], values=means.values[one],
                        log_counts=means.log_counts[one], counts=means.counts[one])  # fmt: skip
        alone = replace(case, query=case.query[one], keys=case.keys.clone(),
                        values=case.values.clone(),
                        selection=Selection(**tables, summaries=means))  # fmt: skip
        tolerance = 1e-6 if path == "torch" else 0.0
        found = attend(path, alone, splits=2).out
        torch.testing.assert_close(found[0], together.out[row], rtol=0, atol=tolerance)


# --- the public op ------------------------------------------------------------------------------


def test_op_when_only_out_is_asked_then_only_out_comes_back(
    path: str, device: torch.device
) -> None:
    case = make_case([Row(0, [(0, 30)], [Head([], [33])] * 2)], ratio=4, device=device)
    arguments = (case.query, case.keys, case.values, case.selection, case.scale)
    found = decode_attention(*arguments)
    assert found.probabilities is None
    assert found.log_sum_exp is None
    torch.testing.assert_close(found.out.double(), case.wanted.out, rtol=0, atol=1e-5)
    probed = decode_attention(*arguments, (6, 1), log_sum_exp=True)
    assert torch.equal(probed.out, found.out)
    assert probed.log_sum_exp is not None
    torch.testing.assert_close(
        probed.log_sum_exp.double(), case.wanted.log_sum_exp, rtol=0, atol=1e-5
    )
    assert probed.probabilities is not None
    wanted = case.wanted.probabilities[:, [6, 1]]
    torch.testing.assert_close(probed.probabilities.double(), wanted, rtol=0, atol=1e-5)


def test_op_when_given_ranges_of_the_host_then_probabilities_lie_at_their_entries(
    path: str, device: torch.device
) -> None:
    rows = [Row(2, [(0, 5), (9, 40)]), Row(0, [(3, 4)])]
    case = make_case(rows, ratio=4, device=device)
    step = step_ranges(
        [row.slot for row in rows], [tuple(row.ranges) for row in rows], num_slots=4, capacity=40
    )
    found = decode_attention(
        case.query, case.keys, case.values, step, case.scale, (6, 1), log_sum_exp=True
    )
    torch.testing.assert_close(found.out.double(), case.wanted.out, rtol=0, atol=1e-5)
    assert found.log_sum_exp is not None
    torch.testing.assert_close(
        found.log_sum_exp.double(), case.wanted.log_sum_exp, rtol=0, atol=1e-5
    )
    wanted = torch.zeros(2, 2, 40, dtype=torch.float64, device=device)
    for row in range(2):
        entries = case.wanted.entries[row][0]
        for place, head in enumerate((6, 1)):
            wanted[row, place, entries] = case.wanted.probabilities[row, head, : len(entries)]
    assert found.probabilities is not None
    torch.testing.assert_close(found.probabilities.double(), wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (Row(4, [(0, 3)]), "slot 4 is outside"),
        (Row(-1, [(0, 3)]), "slot -1 is outside"),
        (Row(0, [(0, 41)]), r"row 0: range \(0, 41\) is reversed or beyond 40"),
        (Row(0, [], [Head([], [40]), Head()]), "outside .*0 to 39"),
        (Row(0, [], [Head([], [-1]), Head()]), "outside .*0 to 39"),
        (Row(0, [], [Head([(38, 41)]), Head()]), "outside .*0 to 39|beyond 40"),
        (Row(0, [], [Head([(-1, 4)]), Head()]), "outside .*0 to 39|beyond 40"),
    ],
)
def test_entry_when_outside_the_arena_then_value_error_or_not_read(
    path: str, device: torch.device, row: Row, message: str
) -> None:
    case = make_case([Row(0)], device=device)
    wrong = make_case([replace(row, active=False)], device=device).selection
    wrong = replace(wrong, active=torch.ones_like(wrong.active))
    # The arena lies in a larger tensor, so that reading beside it would be told by the margins.
    whole = torch.full((6, 2, 44, 64), math.nan, device=device)
    case.keys = case.values = whole[1:-1, :, 2:-2]
    case.keys.fill_(1.0)
    case.selection = wrong
    if path in ON_HOST:
        with pytest.raises(ValueError, match=message):
            attend(path, case)
    else:
        assert attend(path, case).out.isfinite().all()
