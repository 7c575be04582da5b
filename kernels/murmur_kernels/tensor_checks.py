"""Checks of an op's tensors by name; messages give sizes, never contents."""

from __future__ import annotations

from collections.abc import Sequence

import torch

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
FLOAT32 = (torch.float32,)
INT32 = (torch.int32,)
BOOL = (torch.bool,)


def check_tensor(
    name: str,
    tensor: torch.Tensor,
    shape: Sequence[int | None],
    dtypes: Sequence[torch.dtype],
    device: torch.device,
) -> None:
    """Raise ValueError unless the tensor has this shape (None: any size), dtype and device."""
    fits = tensor.dim() == len(shape) and all(
        wanted is None or size == wanted for size, wanted in zip(tensor.shape, shape, strict=True)
    )
    if not fits:
        wanted_shape = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"want {name} of shape ({wanted_shape}), got {tuple(tensor.shape)}")
    if tensor.dtype not in dtypes:
        names = " or ".join(str(dtype).removeprefix("torch.") for dtype in dtypes)
        got = str(tensor.dtype).removeprefix("torch.")
        raise ValueError(f"want {name} of {names}, got {got}")
    if tensor.device != device:
        raise ValueError(f"want {name} on {device}, got {tensor.device}")


def check_arena_layer(name: str, cache: torch.Tensor) -> None:
    """Raise ValueError unless this is one layer of an arena, last axis contiguous."""
    check_tensor(name, cache, (None, None, None, None), FLOATS, cache.device)
    if cache.stride(3) != 1:
        raise ValueError(f"want {name} with a contiguous last axis, got strides {cache.stride()}")


def check_active(active: torch.Tensor | None, rows: int, device: torch.device) -> None:
    """Raise ValueError unless `active` is absent or one bool per row."""
    if active is not None:
        check_tensor("active", active, (rows,), BOOL, device)


def check_group(query_heads: int, kv_heads: int) -> int:
    """Query heads of one KV head; ValueError where they do not divide."""
    if kv_heads == 0 or query_heads % kv_heads:
        raise ValueError(f"{query_heads} query heads do not fit {kv_heads} KV heads")
    return query_heads // kv_heads


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise ValueError unless the value is one of the choices."""
    if value not in choices:
        raise ValueError(f"want {name} one of {', '.join(choices)}; got '{value}'")


def check_at_least(name: str, value: int, least: int) -> None:
    """Raise ValueError below `least`."""
    if value < least:
        raise ValueError(f"want {name} of at least {least}, got {value}")
