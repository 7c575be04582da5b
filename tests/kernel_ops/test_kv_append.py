"""`kv_append`: what is written, and that nothing else is."""

from __future__ import annotations

import pytest
import torch

from murmur_kernels import kv_append
from support.kernel_paths import KERNEL_PATHS, kernel_device

SENTINEL = -77.0
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


@pytest.fixture(params=KERNEL_PATHS, autouse=True)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> torch.device:
    return kernel_device(request.param, monkeypatch, "kv_append")


def places(values: list[int], device: torch.device) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dim", [5, 64, 80])
def test_tokens_when_written_then_rounded_in_place_and_nothing_else(
    device: torch.device, request: pytest.FixtureRequest, dtype: torch.dtype, dim: int
) -> None:
    new_keys, new_values = torch.randn(2, 3, 2, dim, device=device)
    if dtype == torch.bfloat16 and "interpreted" in request.node.callspec.id:
        # Triton's interpreter cuts to bfloat16 where a GPU rounds.
        new_keys, new_values = new_keys.to(dtype).float(), new_values.to(dtype).float()
    keys, values = torch.full((2, 4, 2, 6, dim), SENTINEL, dtype=dtype, device=device)
    kv_append(
        new_keys, new_values, keys, values, places([2, 0, 2], device), places([5, 0, 1], device)
    )
    for new, cache in ((new_keys, keys), (new_values, values)):
        wanted = torch.full((4, 2, 6, dim), SENTINEL, dtype=dtype)
        for token, (slot, position) in enumerate([(2, 5), (0, 0), (2, 1)]):
            wanted[slot, :, position] = new[token].to(dtype)
        assert torch.equal(cache.cpu(), wanted)


def test_token_when_inactive_then_not_written_wherever_it_points(device: torch.device) -> None:
    new = torch.randn(3, 1, 4, device=device)
    keys, values = torch.full((2, 2, 1, 3, 4), SENTINEL, device=device)
    active = torch.tensor([False, True, False], device=device)
    kv_append(
        new, new, keys, values, places([9, 1, -4], device), places([0, 2, 99], device), active
    )
    assert torch.equal(keys[1, 0, 2], new[1, 0])
    assert (keys == SENTINEL).sum() == keys.numel() - 4
    assert torch.equal(keys, values)


def test_arena_and_tokens_when_views_then_strides_are_kept(device: torch.device) -> None:
    new = torch.randn(2, 8, 3, device=device).permute(2, 0, 1)  # (tokens, heads, dim)
    keys = torch.full((3, 6, 2, 10), SENTINEL, device=device)[..., :8].transpose(1, 2)
    values = torch.full((2, 3, 2, 6, 8), SENTINEL, device=device)[1]
    slots, positions = places([0, 0, 2], device), places([0, 3, 3], device)
    kv_append(new, new, keys, values, slots, positions)
    for cache in (keys, values):
        assert torch.equal(cache[0, :, 0], new[0])
        assert torch.equal(cache[0, :, 3], new[1])
        assert torch.equal(cache[2, :, 3], new[2])
        assert (cache == SENTINEL).sum() == cache.numel() - 3 * 2 * 8


def test_tokens_when_there_are_none_then_nothing_happens(device: torch.device) -> None:
    new = torch.empty(0, 1, 4, device=device)
    keys, values = torch.full((2, 2, 1, 3, 4), SENTINEL, device=device)
    kv_append(new, new, keys, values, places([], device), places([], device))
    assert (keys == SENTINEL).all()


@pytest.mark.parametrize(("slot", "position"), [(2, 0), (-1, 0), (0, 3), (0, -1)])
def test_place_when_outside_then_value_error_or_not_written(
    device: torch.device, request: pytest.FixtureRequest, slot: int, position: int
) -> None:
    new = torch.ones(1, 1, 4, device=device)
    whole = torch.full((2, 4, 1, 9, 4), SENTINEL, device=device)
    keys, values = whole[:, 1:3, :, 3:6]
    if "torch" in request.node.callspec.id:
        with pytest.raises(ValueError, match="is outside the arena's 0 to"):
            kv_append(new, new, keys, values, places([slot], device), places([position], device))
    else:
        kv_append(new, new, keys, values, places([slot], device), places([position], device))
    assert (whole == SENTINEL).all()


def test_tensors_when_they_do_not_fit_then_value_error_names_them(device: torch.device) -> None:
    new = torch.ones(1, 1, 4, device=device)
    keys, values = torch.zeros(2, 2, 1, 3, 4, device=device)
    at = places([0], device)
    for wrong, message in (
        ((new[0], new, keys, values, at, at), r"want new_keys of shape \(1, 1, 4\), got \(1, 4\)"),
        ((new, new.half(), keys, values, at, at), "want new_values of float32, got float16"),
        ((new, new, keys, values[:1], at, at), "want values of shape"),
        ((new, new, keys, values, at.long(), at), "want slots of int32, got int64"),
        ((new, new, keys, values, at, places([0, 1], device)), "want positions of shape"),
        ((new, new, keys.mT.contiguous().mT, values, at, at), "contiguous last axis"),
        ((new, new, keys, values, at, at, at), "want active of bool"),
        ((new, new, keys, values, at.to("meta"), at), "want slots on"),
    ):
        with pytest.raises(ValueError, match=message):
            kv_append(*wrong)
