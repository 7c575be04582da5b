"""`page_stats` against the float64 reference: full build, and the page of the newest entry."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch

from murmur_kernels import page_stats
from murmur_kernels.reference.page_stats import page_stats_reference
from support.kernel_paths import KERNEL_PATHS, kernel_device

SENTINEL = -77.0
UNIT = 2.0**-24
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
KINDS = ("minmax", "deviation")
Kind = Literal["minmax", "deviation"]


@pytest.fixture(params=KERNEL_PATHS, autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch, "page_stats")


def int32(values: list[int], device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


def make_keys(
    slots: list[int],
    starts: list[int],
    lengths: list[int],
    dim: int,
    dtype: torch.dtype,
    device: torch.device,
) -> torch.Tensor:
    """(4, 2, capacity, dim); whatever no region holds is NaN."""
    capacity = max(start + length for start, length in zip(starts, lengths, strict=True)) + 2
    keys = torch.full((4, 2, capacity, dim), math.nan)
    for slot, start, length in zip(slots, starts, lengths, strict=True):
        keys[slot, :, start : start + length] = torch.randn(2, length, dim) * 3 + 5
    return keys.to(dtype).to(device)


def outputs(
    rows: int, pages: int, dim: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    low, high = torch.full((2, rows, 2, pages, dim), SENTINEL, device=device)
    return low, high


def check_page(
    low: torch.Tensor,
    high: torch.Tensor,
    wanted: tuple[torch.Tensor, torch.Tensor],
    kind: str,
    size: int,
) -> None:
    """Minimum and maximum exactly; mean and deviation within the rounding of their sums."""
    low, high = low.double().cpu(), high.double().cpu()
    if kind == "minmax":
        assert torch.equal(low, wanted[0])
        assert torch.equal(high, wanted[1])
        return
    # |k| is at most mean + deviation * sqrt(size); an error of the mean adds to the deviation.
    largest = wanted[0].abs() + wanted[1] * math.sqrt(size)
    bound = (size + 8) * UNIT * largest
    assert ((low - wanted[0]).abs() <= bound).all()
    assert ((high - wanted[1]).abs() <= 2 * bound).all()


def check(
    slots: list[int],
    starts: list[int],
    lengths: list[int],
    device: torch.device,
    *,
    page_size: int,
    kind: Kind,
    dim: int = 8,
    dtype: torch.dtype = torch.float32,
) -> None:
    """The whole build, against the reference; pages that hold nothing keep the sentinel."""
    keys = make_keys(slots, starts, lengths, dim, dtype, device)
    pages = -(-max(lengths) // page_size) + 1
    low, high = outputs(len(slots), pages, dim, device)
    tensors = (int32(slots, device), int32(starts, device), int32(lengths, device))
    page_stats(keys, *tensors, low, high, page_size=page_size, kind=kind)
    wanted = page_stats_reference(keys.cpu(), slots, starts, lengths, page_size, kind)
    for row in range(len(slots)):
        for head in range(2):
            filled = wanted[row][head]
            for page, stats in enumerate(filled):
                check_page(low[row, head, page], high[row, head, page], stats, kind, page_size)
            assert (low[row, head, len(filled) :] == SENTINEL).all()
            assert (high[row, head, len(filled) :] == SENTINEL).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 15, 16, 17, 99])
def test_region_when_of_any_length_then_equals_reference(
    device: torch.device, length: int, kind: Kind
) -> None:
    check([2, 0], [3, 1], [length, 5], device, page_size=16, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
def test_region_when_long_then_equals_reference(device: torch.device, kind: Kind) -> None:
    check([1], [0], [1025], device, page_size=48, kind=kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_keys_when_of_any_dtype_and_size_then_equal_reference(
    device: torch.device, dtype: torch.dtype, kind: Kind
) -> None:
    check([1, 2, 3], [4, 4, 4], [9, 9, 9], device, page_size=4, kind=kind, dim=80, dtype=dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_page_when_of_one_entry_then_that_entry(device: torch.device, kind: Kind) -> None:
    check([3], [2], [4], device, page_size=1, kind=kind)


def test_pages_when_those_of_the_design_then_their_minima_and_maxima(device: torch.device) -> None:
    keys = torch.tensor([[1.0, 0], [0, 1], [2, -1], [-1, 2]], device=device)[None, None]
    low, high = torch.zeros(2, 1, 1, 2, 2, device=device)
    region = (int32([0], device), int32([0], device), int32([4], device))
    page_stats(keys, *region, low, high, page_size=2, kind="minmax")
    assert low.tolist() == [[[[0, 0], [-1, -1]]]]
    assert high.tolist() == [[[[1, 1], [2, 2]]]]


def test_rows_when_empty_or_inactive_then_untouched(device: torch.device) -> None:
    keys = torch.randn(3, 2, 6, 4, device=device)
    low, high = outputs(3, 2, 4, device)
    page_stats(
        keys,
        int32([0, 1, 2], device),
        int32([0, 0, 0], device),
        int32([0, 6, 6], device),
        low,
        high,
        page_size=4,
        kind="minmax",
        active=torch.tensor([True, False, True], device=device),
    )
    assert (low[:2] == SENTINEL).all()
    assert (high[:2] == SENTINEL).all()
    assert torch.equal(low[2, :, 0], keys[2, :, :4].amin(dim=1))
    assert torch.equal(high[2, :, 1], keys[2, :, 4:].amax(dim=1))


@pytest.mark.parametrize("kind", KINDS)
def test_entries_when_appended_one_by_one_then_same_as_the_whole_build(
    device: torch.device, kind: Kind
) -> None:
    keys = torch.randn(2, 2, 12, 4, device=device)
    slots, starts = int32([1, 0], device), int32([2, 1], device)
    grown, whole = outputs(2, 3, 4, device), outputs(2, 3, 4, device)
    for length in range(10):  # row 1 is one entry ahead; row 0 starts empty
        lengths = int32([length, length + 1], device)
        page_stats(
            keys, slots, starts, lengths, *grown, page_size=4, kind=kind, last_page_only=True
        )
    page_stats(keys, slots, starts, int32([9, 10], device), *whole, page_size=4, kind=kind)
    for one_by_one, at_once in zip(grown, whole, strict=True):
        torch.testing.assert_close(one_by_one, at_once, rtol=1e-6, atol=1e-6)


def test_last_page_when_asked_for_then_no_other_is_touched(device: torch.device) -> None:
    keys = torch.randn(2, 2, 12, 4, device=device)
    low, high = outputs(2, 3, 4, device)
    region = (int32([0, 1], device), int32([0, 0], device), int32([5, 0], device))
    page_stats(keys, *region, low, high, page_size=4, kind="minmax", last_page_only=True)
    assert torch.equal(low[0, :, 1], keys[0, :, 4])
    assert (low[0, :, [0, 2]] == SENTINEL).all()
    assert (low[1] == SENTINEL).all()


def test_keys_and_outputs_when_views_then_equal_reference(device: torch.device) -> None:
    keys = torch.randn(2, 7, 2, 6, device=device).transpose(1, 2)[..., :4]
    low, high = torch.full((2, 4, 2, 2, 3), SENTINEL, device=device).permute(0, 4, 2, 3, 1)[:, :2]
    region = (int32([1, 0], device), int32([0, 2], device), int32([7, 5], device))
    page_stats(keys, *region, low, high, page_size=4, kind="minmax")
    wanted = page_stats_reference(keys.cpu(), [1, 0], [0, 2], [7, 5], 4, "minmax")
    for row in range(2):
        for head in range(2):
            for page in range(2):
                stats = wanted[row][head][page]
                check_page(low[row, head, page], high[row, head, page], stats, "minmax", 4)


def test_tensors_when_they_do_not_fit_then_value_error_names_them(device: torch.device) -> None:
    keys = torch.zeros(2, 2, 8, 4, device=device)
    one = int32([0], device)
    low, high = outputs(1, 2, 4, device)
    with pytest.raises(ValueError, match="page_size of at least 1, got 0"):
        page_stats(keys, one, one, one, low, high, page_size=0, kind="minmax")
    with pytest.raises(ValueError, match="kind one of minmax, deviation; got 'mean'"):
        page_stats(keys, one, one, one, low, high, page_size=1, kind="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"want low of shape \(1, 2, any, 4\)"):
        page_stats(keys, one, one, one, low[:, :1], high, page_size=1, kind="minmax")
