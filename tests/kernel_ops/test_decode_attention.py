"""`decode_attention` against the float64 reference on the same, already rounded, inputs.

Whatever is promised of the result is tested on both implementations.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import pytest
import torch

from murmur_kernels import Ranges, Selection, decode_attention, decode_attention_path, step_ranges
from murmur_kernels.reference.decode_attention import decode_attention_reference

SIZES = (1, 7, 8, 9, 15, 16, 17, 99)
SLOTS = 5
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
CPU = torch.device("cpu")
MACHINE_CODE = "murmur_kernels.compiled.machine_code"

Case = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


@pytest.fixture(params=["compiled", "torch"], autouse=True)
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The implementation that a test runs on."""
    if request.param == "torch":
        monkeypatch.setitem(sys.modules, MACHINE_CODE, None)
    elif decode_attention_path(CPU, torch.float32, 64) == "torch":
        pytest.skip("this processor has no compiled attention (needs AVX2, FMA and F16C)")
    return str(request.param)


@pytest.fixture
def threads() -> Iterator[None]:
    """Puts torch's number of threads back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def make_case(
    *,
    rows: int = 3,
    kv_heads: int = 2,
    ratio: int = 1,
    dim: int = 64,
    capacity: int = 104,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> Case:
    """Query (rows, heads, dim) float32; keys and values (slots, kv_heads, capacity, dim)."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(rows, kv_heads * ratio, dim, generator=generator)
    keys = torch.randn(SLOTS, kv_heads, capacity, dim, generator=generator)
    values = torch.randn(SLOTS, kv_heads, capacity, dim, generator=generator)
    return query, keys.to(dtype), values.to(dtype)


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


def run(
    case: Case,
    slots: list[int],
    ranges: list[Ranges],
    scale: float = 0.125,
    probe_heads: tuple[int, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The op, on ranges that are checked against the case's arena."""
    query, keys, values = case
    step = step_ranges(slots, ranges, num_slots=keys.shape[0], capacity=keys.shape[2])
    out, probabilities, log_sum_exp = decode_attention(
        query, keys, values, step, scale, probe_heads
    )
    assert log_sum_exp is None
    return out, probabilities


def check(
    case: Case, slots: list[int], ranges: list[Ranges], scale: float = 0.125, limit: float = 1e-5
) -> torch.Tensor:
    """Run on a poisoned arena; error to the reference within `limit` of the largest result."""
    query, keys, values = case
    poisoned = (query, *poison_unread(keys, values, slots, ranges))
    out, probabilities = run(poisoned, slots, ranges, scale)
    assert probabilities is None
    assert out.dtype == query.dtype
    step = step_ranges(slots, ranges, num_slots=keys.shape[0], capacity=keys.shape[2])
    selection = Selection.from_step_ranges(step, CPU)
    wanted = decode_attention_reference(query, keys, values, selection, scale).out
    error = ((out.double() - wanted).abs().max() / wanted.abs().max()).item()
    assert error <= limit, error
    return out


# --- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("entries", SIZES)
def test_one_range_when_of_any_size_then_equals_reference(entries: int, dtype: torch.dtype) -> None:
    check(make_case(dtype=dtype), [0, 1, 2], [((3, 3 + entries),)] * 3)


@pytest.mark.parametrize("dim", [8, 64, 80, 96, 128, 200])
@pytest.mark.parametrize("ratio", [1, 4, 7])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_grouped_heads_when_rows_differ_in_ranges_then_equal_reference(
    dtype: torch.dtype, ratio: int, dim: int
) -> None:
    case = make_case(ratio=ratio, dim=dim, dtype=dtype)
    ranges: list[Ranges] = [((0, 17),), ((0, 4), (20, 104)), ((1, 2), (5, 6), (7, 30), (50, 51))]
    check(case, [0, 1, 2], ranges, dim**-0.5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_entries_when_as_many_as_whisper_has_then_equal_reference(dtype: torch.dtype) -> None:
    case = make_case(rows=2, capacity=1501, dtype=dtype)
    check(case, [3, 4], [((0, 1500),), ((1, 1501),)])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_query_when_of_the_arena_dtype_then_result_is_too(dtype: torch.dtype) -> None:
    query, keys, values = make_case(ratio=4, dtype=dtype)
    # The mix is rounded to the dtype, nothing before it.
    limit = 0.5 * torch.finfo(dtype).eps + 1e-5
    check((query.to(dtype), keys, values), [0, 1, 2], [((0, 99),)] * 3, limit=limit)


def test_head_size_when_no_multiple_of_eight_then_torch_and_equals_reference() -> None:
    assert decode_attention_path(CPU, torch.float32, 20) == "torch"
    check(make_case(dim=20), [0, 1, 2], [((0, 9), (30, 47))] * 3)


def test_ranges_when_touching_then_same_as_their_union(path: str) -> None:
    case = make_case(dtype=torch.float16)
    split = check(case, [0, 1, 2], [((2, 9), (9, 10), (10, 40))] * 3)
    whole = check(case, [0, 1, 2], [((2, 40),)] * 3)
    tolerance = 0.0 if path == "compiled" else 1e-6
    torch.testing.assert_close(split, whole, rtol=0, atol=tolerance)


@pytest.mark.parametrize("slots", [[4, 0, 2], [0, 2, 4], [1, 2, 4], [3, 2, 1]])
def test_rows_when_in_non_consecutive_slots_then_each_reads_its_own(slots: list[int]) -> None:
    check(make_case(), slots, [((0, 9), (30, 47))] * 3)


@pytest.mark.parametrize("ratio", [1, 4])
def test_scores_when_extreme_then_finite_and_equal_reference(ratio: int) -> None:
    query, keys, values = make_case(rows=1, ratio=ratio)
    # A score of 10,000 is known to half a unit of 2^-10 at best: as much, relatively, is a weight.
    for sign in (1.0, -1.0):
        scale = sign * 1e4 / (query[0, 0] @ keys[0, 0, 0]).abs().item()
        out = check((query, keys, values), [0], [((0, 40),)], scale, limit=1e-2)
        assert out.isfinite().all()


def test_single_entry_when_selected_then_its_value_comes_back() -> None:
    query, keys, values = make_case(ratio=4)
    out, _ = run((query, keys, values), [0, 1, 2], [((7, 8),)] * 3, 1.0)
    assert torch.equal(out, values[:3, :, 7].repeat_interleave(4, dim=1))


def test_selected_entry_when_nan_then_so_is_the_result() -> None:
    query, keys, values = make_case()
    keys[1, 0, 20, 5] = math.nan
    out, _ = run((query, keys, values), [0, 1, 2], [((0, 40),)] * 3)
    nan = out.isnan().all(dim=2)
    assert nan.tolist() == [[False, False], [True, False], [False, False]]


def test_arena_when_a_view_then_equals_reference() -> None:
    query, keys, values = make_case()
    # (slots, capacity, heads, dim) in memory: neither slots nor heads can be folded into one.
    keys = keys.transpose(1, 2).contiguous().transpose(1, 2)
    # One of three layers, more slots, capacity and dim than are seen.
    whole = torch.full((3, 7, 2, 110, 72), math.nan)
    whole[1, 1:6, :, 3:107, 8:] = values
    check((query, keys, whole[1, 1:6, :, 3:107, 8:]), [0, 1, 3], [((0, 9), (30, 47))] * 3)


def test_query_when_not_contiguous_then_equals_reference() -> None:
    query, keys, values = make_case(ratio=2)
    query = query.transpose(1, 2).contiguous().transpose(1, 2)
    check((query, keys, values), [0, 1, 3], [((0, 9), (30, 47))] * 3)


def test_rows_when_there_are_none_then_empty() -> None:
    query, keys, values = make_case()
    out, probabilities = run((query[:0], keys, values), [], [], probe_heads=(1,))
    assert out.shape == (0, 2, 64)
    assert probabilities is not None
    assert probabilities.shape == (0, 1, 104)


# --- independence -------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [1, 4])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_when_in_other_company_order_and_slots_then_bits_are_the_same(
    dtype: torch.dtype, ratio: int, path: str
) -> None:
    query, keys, values = make_case(ratio=ratio, dtype=dtype)
    ranges: list[Ranges] = [((0, 5), (8, 50))] * 2 + [((0, 5), (9, 50))]
    together, _ = run((query, keys, values), [1, 2, 3], ranges)
    moved_keys, moved_values = keys.roll(1, dims=0), values.roll(1, dims=0)
    turned, _ = run((query.flip(0), moved_keys, moved_values), [4, 3, 2], ranges[::-1])
    # torch's products may sum in another order for another number of rows.
    tolerance = 0.0 if path == "compiled" else 1e-6
    torch.testing.assert_close(turned.flip(0), together, rtol=0, atol=tolerance)
    for row, slot in enumerate([1, 2, 3]):
        alone, _ = run((query[row : row + 1], keys, values), [slot], [ranges[row]])
        torch.testing.assert_close(alone[0], together[row], rtol=0, atol=tolerance)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_threads_when_more_then_bits_are_the_same(dtype: torch.dtype, path: str) -> None:
    case = make_case(ratio=2, dtype=dtype)
    ranges: list[Ranges] = [((0, 17),), ((0, 4), (20, 104)), ((1, 2),)]
    results = []
    for count in (1, 2, 5):
        torch.set_num_threads(count)
        results.append(run(case, [0, 1, 2], ranges, probe_heads=(3,)))
    tolerance = 0.0 if path == "compiled" else 1e-6
    for out, probabilities in results[1:]:
        torch.testing.assert_close(out, results[0][0], rtol=0, atol=tolerance)
        torch.testing.assert_close(probabilities, results[0][1], rtol=0, atol=tolerance)


# --- probes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_probes_when_asked_then_softmax_of_their_heads_where_entries_lie(
    dtype: torch.dtype,
) -> None:
    query, keys, values = make_case(ratio=4, kv_heads=2, dtype=dtype)
    ranges: list[Ranges] = [((0, 3), (90, 99)), ((5, 6),), ((0, 20),)]
    _, seen = run((query, keys, values), [4, 0, 1], ranges, 0.125, (6, 1))
    assert seen is not None
    assert seen.dtype == torch.float32
    wanted = torch.zeros(3, 2, 104, dtype=torch.float64)
    for row, slot in enumerate([4, 0, 1]):
        entries = [j for start, end in ranges[row] for j in range(start, end)]
        for place, head in enumerate((6, 1)):
            scores = keys[slot, head // 4, entries].double() @ query[row, head].double() * 0.125
            wanted[row, place, entries] = torch.softmax(scores, dim=0)
    torch.testing.assert_close(seen.double(), wanted, rtol=1e-5, atol=1e-7)


def test_probes_when_asked_then_out_is_the_same() -> None:
    case = make_case(ratio=4)
    ranges: list[Ranges] = [((0, 3), (90, 99))] * 3
    plain, _ = run(case, [4, 0, 1], ranges)
    probed, _ = run(case, [4, 0, 1], ranges, probe_heads=(0, 7))
    assert torch.equal(plain, probed)


# --- the choice of implementation ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_path_when_asked_then_what_runs(dtype: torch.dtype, path: str) -> None:
    assert decode_attention_path(CPU, dtype, 64) == path
    assert decode_attention_path(CPU, torch.float64, 64) == "torch"


# --- log-sum-exp --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_log_sum_exp_when_asked_then_that_of_the_scores(dtype: torch.dtype) -> None:
    query, keys, values = make_case(ratio=4, dtype=dtype)
    step = step_ranges([4, 0, 1], [((0, 3), (90, 99))] * 3, num_slots=SLOTS, capacity=104)
    found = decode_attention(query, keys, values, step, 0.125, (2,), log_sum_exp=True)
    wanted = decode_attention_reference(
        query, keys, values, Selection.from_step_ranges(step, CPU), 0.125
    )
    assert found.log_sum_exp is not None
    torch.testing.assert_close(found.log_sum_exp.double(), wanted.log_sum_exp, rtol=0, atol=1e-5)
    torch.testing.assert_close(found.out.double(), wanted.out, rtol=0, atol=1e-5)
    assert found.probabilities is not None
    assert found.probabilities.shape == (3, 1, 104)


# --- what does not fit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([((0, 5),)] * 2, "3 slots need 3 range lists, got 2"),
        ([((0, 5),), (), ((0, 5),)], "row 1 selects no entry"),
        ([((0, 5),), ((4, 4),), ((0, 5),)], r"row 1: range \(4, 4\) is empty"),
        ([((0, 5),), ((0, 5), (4, 9)), ((0, 5),)], r"row 1: range \(4, 9\)"),
        ([((0, 5),), ((6, 9), (0, 5)), ((0, 5),)], r"row 1: range \(0, 5\)"),
        ([((0, 5),), ((0, 105),), ((0, 5),)], r"range \(0, 105\) .* beyond 104"),
        ([((0, 5),), ((-1, 5),), ((0, 5),)], r"row 1: range \(-1, 5\)"),
        (
            [((0, 5),), tuple((i, i + 1) for i in range(0, 14, 2)), ((0, 5),)],
            "row 1 has 7 ranges, at most 6 are allowed",
        ),
    ],
)
def test_ranges_when_wrong_then_value_error_names_them(ranges: list[Ranges], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        step_ranges([0, 1, 2], ranges, num_slots=SLOTS, capacity=104)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ([0, 1, 5], "slot 5 is outside the arena of 5 slots"),
        ([0, -1, 2], "slot -1 is outside"),
    ],
)
def test_slots_when_wrong_then_value_error_names_them(slots: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        step_ranges(slots, [((0, 5),)] * 3, num_slots=SLOTS, capacity=104)


def test_step_when_of_other_rows_or_arena_then_value_error_names_both() -> None:
    query, keys, values = make_case()
    step = step_ranges([0, 1, 2], [((0, 5),)] * 3, num_slots=SLOTS, capacity=104)
    with pytest.raises(ValueError, match="those of 3 rows, the query has 2"):
        decode_attention(query[:2], keys, values, step, 1.0)
    with pytest.raises(ValueError, match="5 slots of 104 entries, this one has 4 of 104"):
        decode_attention(query, keys[:4], values[:4], step, 1.0)
    with pytest.raises(ValueError, match="this one has 5 of 100"):
        decode_attention(query, keys[:, :, :100], values[:, :, :100], step, 1.0)


def test_tensors_when_they_do_not_fit_then_value_error_names_sizes() -> None:
    query, keys, values = make_case()
    step = step_ranges([0, 1, 2], [((0, 5),)] * 3, num_slots=SLOTS, capacity=104)
    for wrong, message in (
        ((query[0], keys, values), "want query"),
        ((query, keys, values[:, :, :9]), "equal keys and values"),
        ((query[:, :, :32], keys, values), "2 query heads of size 32 do not fit 2 KV heads"),
        ((query[:, [0, 1, 1]], keys, values), "3 query heads of size 64 do not fit 2 KV heads"),
        ((query, keys.double(), values.double()), "of one dtype, float32, float16 or bfloat16"),
        ((query, keys, values.half()), "of one dtype"),
        ((query.half(), keys, values), "want a query of float32"),
        ((query, keys.mT.contiguous().mT, values), "contiguous last axis"),
        ((query, keys, values.to("meta")), "want one device"),
    ):
        with pytest.raises(ValueError, match=message):
            decode_attention(*wrong, step, 1.0)


@pytest.mark.parametrize("head", [-1, 2])
def test_probe_head_when_none_of_the_query_then_value_error_names_it(head: int) -> None:
    with pytest.raises(ValueError, match=f"probe head {head} is not one of 2 query heads"):
        run(make_case(), [0, 1, 2], [((0, 5),)] * 3, probe_heads=(head,))
