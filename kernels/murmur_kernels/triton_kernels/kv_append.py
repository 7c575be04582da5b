"""`kv_append` in Triton: one program per token and KV head."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def _append(
    new_keys,
    new_values,
    keys,
    values,
    slots,
    positions,
    active,
    stride_nk_token,
    stride_nk_head,
    stride_nk_dim,
    stride_nv_token,
    stride_nv_head,
    stride_nv_dim,
    stride_k_slot,
    stride_k_head,
    stride_k_entry,
    stride_v_slot,
    stride_v_head,
    stride_v_entry,
    num_slots,
    capacity,
    head_dim,
    HAS_ACTIVE: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    token = tl.program_id(0)
    head = tl.program_id(1)
    if HAS_ACTIVE:
        if tl.load(active + token) == 0:
            return
    slot = tl.load(slots + token).to(tl.int64)
    position = tl.load(positions + token).to(tl.int64)
    inside = (slot >= 0) & (slot < num_slots) & (position >= 0) & (position < capacity)
    dim = tl.arange(0, BLOCK_DIM)
    mask = (dim < head_dim) & inside
    source = new_keys + token * stride_nk_token + head * stride_nk_head + dim * stride_nk_dim
    target = keys + slot * stride_k_slot + head * stride_k_head + position * stride_k_entry + dim
    tl.store(target, tl.load(source, mask=mask).to(keys.dtype.element_ty), mask=mask)
    source = new_values + token * stride_nv_token + head * stride_nv_head + dim * stride_nv_dim
    target = values + slot * stride_v_slot + head * stride_v_head + position * stride_v_entry + dim
    tl.store(target, tl.load(source, mask=mask).to(values.dtype.element_ty), mask=mask)


def kv_append_triton(
    new_keys: torch.Tensor,
    new_values: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: torch.Tensor,
    positions: torch.Tensor,
    active: torch.Tensor | None,
) -> None:
    """`kv_append` on checked arguments."""
    tokens, heads, dim = new_keys.shape
    if tokens == 0:
        return
    _append[(tokens, heads)](
        new_keys,
        new_values,
        keys,
        values,
        slots.contiguous(),
        positions.contiguous(),
        active,
        *new_keys.stride(),
        *new_values.stride(),
        *keys.stride()[:3],
        *values.stride()[:3],
        keys.shape[0],
        keys.shape[2],
        dim,
        HAS_ACTIVE=active is not None,
        BLOCK_DIM=triton.next_power_of_2(dim),
    )
