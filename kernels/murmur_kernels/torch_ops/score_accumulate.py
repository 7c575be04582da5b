"""`score_accumulate` as one matrix product per KV head over the listed keys."""

from __future__ import annotations

import torch

from murmur_kernels.torch_ops.entries import gather_entries, region_entries


def score_accumulate_torch(
    query: torch.Tensor,
    keys: torch.Tensor,
    slots: torch.Tensor,
    lse: torch.Tensor,
    scores: torch.Tensor,
    counts: torch.Tensor,
    scale: float,
    decay: float,
    reduce: str,
    indices: torch.Tensor | None,
    starts: torch.Tensor | None,
    limits: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """`score_accumulate` on checked arguments."""
    rows, queries, heads, dim = query.shape
    kv_heads = keys.shape[1]
    most = min(int(counts.max()), scores.shape[2]) if counts.numel() else 0
    if most <= 0 or queries == 0:
        return
    entry = torch.arange(most)
    used = entry < counts.unsqueeze(2)
    if active is not None:
        used &= active[:, None, None]
    if indices is not None:
        listed = indices[:, :, :most].where(used, 0)
        k = gather_entries(keys, slots, listed)
    else:
        first = torch.zeros_like(slots) if starts is None else starts
        listed = (first[:, None] + entry)[:, None]
        k = region_entries(keys, slots, first, most)
    group = heads // kv_heads
    # (rows, kv_heads, queries, group, ...): the queries of a KV head side by side
    q = query.float().view(rows, queries, kv_heads, group, dim).transpose(1, 2)
    logits = q.flatten(2, 3) @ k.float().mT * scale
    log_sum = lse.view(rows, queries, kv_heads, group).transpose(1, 2)
    seen = (logits.view(rows, kv_heads, queries, group, most) - log_sum.unsqueeze(4)).exp()
    if reduce == "max":
        received = seen.amax(dim=3)
    else:
        received = seen.sum(dim=3) if reduce == "sum" else seen.mean(dim=3)
    if limits is not None:
        hidden = listed.unsqueeze(2) >= limits[:, None, :, None]
        received = received.masked_fill(hidden, 0.0)
    weights = decay ** torch.arange(queries - 1, -1, -1, dtype=torch.float64)
    added = torch.einsum("t,rhtj->rhj", weights.float(), received)
    past = scores[:, :, :most]
    past.copy_(torch.where(used, decay**queries * past + added, past))
