"""`two_means` in Triton: one program per row, KV head and group, which does all iterations.

The vectors are brought into the order of the places first, so that a group is one block of
memory. Sums are those of one program in a fixed order: the result is the same every time.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from murmur_kernels.torch_ops.entries import gather_entries

_BLOCK_ENTRIES = 64


@triton.jit
def _split(
    vectors,
    permutation,
    node_starts,
    node_ends,
    out,
    left_sizes,
    stride_p_row,
    stride_p_head,
    stride_p_place,
    stride_s_row,
    stride_s_head,
    stride_s_group,
    stride_e_row,
    stride_e_head,
    stride_e_group,
    stride_o_row,
    stride_o_head,
    stride_o_place,
    stride_l_row,
    stride_l_head,
    stride_l_group,
    heads,
    places,
    head_dim,
    max_child,
    iterations,
    seed,
    COSINE: tl.constexpr,
    BLOCK_ENTRIES: tl.constexpr,
    BLOCK_DIM: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    group = tl.program_id(2)
    at = node_starts + row * stride_s_row + head * stride_s_head + group * stride_s_group
    begin = tl.load(at)
    at = node_ends + row * stride_e_row + head * stride_e_head + group * stride_e_group
    end = tl.load(at)
    size = end - begin
    at_left = left_sizes + row * stride_l_row + head * stride_l_head + group * stride_l_group
    if size < 2:
        tl.store(at_left, size)
        return
    vectors += (row * heads + head) * places * head_dim
    permutation += row * stride_p_row + head * stride_p_head
    out += row * stride_o_row + head * stride_o_head
    lane = tl.arange(0, BLOCK_ENTRIES)
    dim = tl.arange(0, BLOCK_DIM)
    in_dim = dim < head_dim
    block = lane[:, None] * head_dim + dim[None, :]
    # 32-bit mixing that int64 holds
    bits = begin.to(tl.int64) * 2654435761 + size.to(tl.int64) * 2246822519 + seed
    bits = bits & 0xFFFFFFFF
    bits = ((bits ^ (bits >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
    bits = ((bits ^ (bits >> 12)) * 0x297A2D39) & 0xFFFFFFFF
    picked = begin + ((bits ^ (bits >> 15)) % size).to(tl.int32)
    first = tl.load(vectors + picked * head_dim + dim, mask=in_dim, other=0.0)
    least = tl.full((), float("inf"), tl.float32)
    farthest = begin
    for place in range(begin, end, BLOCK_ENTRIES):
        used = place + lane < end
        mask = used[:, None] & in_dim[None, :]
        x = tl.load(vectors + place * head_dim + block, mask=mask, other=0.0)
        nearness = tl.sum(x * first[None, :], axis=1)
        if not COSINE:
            nearness -= tl.sum(x * x, axis=1) / 2
        nearness = tl.where(used, nearness, float("inf"))
        block_least = tl.min(nearness)
        earliest = tl.min(tl.where(nearness == block_least, place + lane, end))
        if block_least < least:
            least = block_least
            farthest = earliest
    second = tl.load(vectors + farthest * head_dim + dim, mask=in_dim, other=0.0)
    offset = tl.zeros((), tl.float32)
    rights = 0
    for iteration in range(iterations):
        if not COSINE:
            offset = tl.sum(second * second - first * first) / 2
        sum_first = tl.zeros((BLOCK_DIM,), tl.float32)
        sum_second = tl.zeros((BLOCK_DIM,), tl.float32)
        rights = 0
        for place in range(begin, end, BLOCK_ENTRIES):
            used = place + lane < end
            mask = used[:, None] & in_dim[None, :]
            x = tl.load(vectors + place * head_dim + block, mask=mask, other=0.0)
            nearer = (tl.sum(x * (second - first)[None, :], axis=1) > offset) & used
            sum_second += tl.sum(tl.where(nearer[:, None], x, 0.0), axis=0)
            sum_first += tl.sum(tl.where(nearer[:, None], 0.0, x), axis=0)
            rights += tl.sum(nearer.to(tl.int32))
        # The centroids of the last assignment stay, to assign once more where entries move.
        if iteration < iterations - 1:
            if COSINE:
                length = tl.sqrt(tl.sum(sum_first * sum_first))
                sum_first = sum_first / tl.where(length == 0, 1.0, length)
                length = tl.sqrt(tl.sum(sum_second * sum_second))
                sum_second = sum_second / tl.where(length == 0, 1.0, length)
            else:
                sum_first = sum_first / tl.maximum(size - rights, 1)
                sum_second = sum_second / tl.maximum(rights, 1)
            first = tl.where(rights < size, sum_first, first)
            second = tl.where(rights > 0, sum_second, second)
    halve = (rights == 0) | (rights == size) | (tl.maximum(rights, size - rights) > max_child)
    lefts = tl.where(halve, size // 2, size - rights)
    tl.store(at_left, lefts)
    left_at = begin
    right_at = begin + lefts
    for place in range(begin, end, BLOCK_ENTRIES):
        used = place + lane < end
        mask = used[:, None] & in_dim[None, :]
        x = tl.load(vectors + place * head_dim + block, mask=mask, other=0.0)
        nearer = tl.sum(x * (second - first)[None, :], axis=1) > offset
        nearer = (halve & (place + lane >= begin + lefts)) | ((halve == 0) & nearer)
        to_right = (used & nearer).to(tl.int32)
        to_left = used.to(tl.int32) - to_right
        right_target = right_at + tl.cumsum(to_right, 0) - 1
        left_target = left_at + tl.cumsum(to_left, 0) - 1
        target = tl.where(to_right != 0, right_target, left_target)
        entry = tl.load(permutation + (place + lane) * stride_p_place, mask=used, other=0)
        tl.store(out + target * stride_o_place, entry, mask=used)
        left_at += tl.sum(to_left)
        right_at += tl.sum(to_right)


def two_means_triton(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    permutation: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    max_child: int,
    cosine: bool,
    iterations: int,
    seed: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`two_means` on checked arguments."""
    out = permutation.clone()
    left_sizes = torch.empty_like(node_starts)
    if node_starts.numel() == 0:
        return out, left_sizes
    heads, places = permutation.shape[1:]
    dim = keys.shape[3]
    vectors = gather_entries(keys, slots, starts[:, None, None] + permutation).float()
    if cosine:
        lengths = torch.linalg.vector_norm(vectors, dim=3, keepdim=True)
        vectors = vectors / lengths.masked_fill(lengths == 0, 1.0)
    _split[tuple(node_starts.shape)](
        vectors.contiguous(),
        permutation,
        node_starts,
        node_ends,
        out,
        left_sizes,
        *permutation.stride(),
        *node_starts.stride(),
        *node_ends.stride(),
        *out.stride(),
        *left_sizes.stride(),
        heads,
        places,
        dim,
        max_child,
        iterations,
        seed,
        COSINE=cosine,
        BLOCK_ENTRIES=_BLOCK_ENTRIES,
        BLOCK_DIM=triton.next_power_of_2(dim),
    )
    return out, left_sizes
