"""Attention of one query token per row over ranges of an arena slot.

    out[r, i] = sum_j p_j v_j,   p = softmax_j(scale * q[r, i] . k_j),   j in ranges[r]

with k_j, v_j entries of slot slots[r] and KV head i // (query_heads / kv_heads).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_kernels.checks import check_arena, check_ranges

Ranges = tuple[tuple[int, int], ...]


def decode_attention(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: Sequence[int],
    ranges: Sequence[Ranges],
    scale: float,
    probe_heads: Sequence[int] = (),
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Attend over the selected entries only; nothing is copied out of a contiguous arena.

    Rows that lie in consecutive slots and read the same ranges are computed together, as
    views of the arena.

    Args:
        query: (rows, query_heads, head_dim).
        keys, values: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots: slot of each row.
        ranges: ascending, disjoint half-open entry ranges of each row; at least one entry.
        scale: factor on the dot products.
        probe_heads: query heads whose probabilities are wanted.

    Returns:
        out of shape (rows, query_heads, head_dim), and for each row the probabilities of the
        probe heads over its selected entries in order, float32 (heads, entries); an empty list
        without probe heads.

    Raises:
        ValueError: shapes, slots or ranges that do not fit the arena.
    """
    check_arena(query, keys, values, slots)
    check_ranges(ranges, len(slots), keys.shape[2])
    out = torch.empty_like(query)
    probes: list[torch.Tensor] = []
    for first, last in _runs(slots, ranges):
        rows = last - first
        group = query.shape[1] // keys.shape[1]
        # (rows * kv_heads, group, head_dim): one small matrix product per KV head
        q = query[first:last].reshape(rows * keys.shape[1], group, query.shape[2]) * scale
        slot = slots[first]
        key_views = [_entries(keys, slot, rows, span) for span in ranges[first]]
        value_views = [_entries(values, slot, rows, span) for span in ranges[first]]
        scores = [torch.bmm(q, view.transpose(1, 2)) for view in key_views]
        joined = scores[0] if len(scores) == 1 else torch.cat(scores, dim=2)
        probabilities = torch.softmax(joined.float(), dim=2)
        weights = probabilities.to(values.dtype)
        result = torch.zeros_like(q)
        offset = 0
        for view in value_views:
            count = view.shape[1]
            result.baddbmm_(weights[:, :, offset : offset + count], view)
            offset += count
        out[first:last] = result.view(rows, query.shape[1], query.shape[2])
        if probe_heads:
            by_head = probabilities.view(rows, query.shape[1], offset)
            # A copy: the probabilities of the other heads must not stay alive with it.
            probes.extend(by_head[:, list(probe_heads)].unbind(0))
    return out, probes


def _entries(
    cache: torch.Tensor, first_slot: int, rows: int, span: tuple[int, int]
) -> torch.Tensor:
    """(rows * kv_heads, entries, head_dim): a range of consecutive slots."""
    # A view for a contiguous arena; another layout has its selected entries copied.
    return cache[first_slot : first_slot + rows, :, span[0] : span[1]].flatten(0, 1)


def _runs(slots: Sequence[int], ranges: Sequence[Ranges]) -> list[tuple[int, int]]:
    """Row index ranges of consecutive slots that read the same entries."""
    runs: list[tuple[int, int]] = []
    for row in range(len(slots)):
        if runs:
            first = runs[-1][0]
            if slots[row] == slots[row - 1] + 1 and ranges[row] == ranges[first]:
                runs[-1] = (first, row + 1)
                continue
        runs.append((row, row + 1))
    return runs
