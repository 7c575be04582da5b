"""`page_stats` on a region cut into pages."""

from __future__ import annotations

import math

import torch

from murmur_kernels.torch_ops.entries import region_entries


def page_stats_torch(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    page_size: int,
    kind: str,
    last_page_only: bool,
    active: torch.Tensor | None,
) -> None:
    """`page_stats` on checked arguments."""
    rows, pages = low.shape[0], low.shape[2]
    counted = lengths.clamp(0, pages * page_size)
    if active is not None:
        counted = counted * active
    if rows == 0 or int(counted.max()) == 0:
        return
    if last_page_only:
        page = (counted - 1).clamp(min=0) // page_size
        first = page * page_size
        stats = _stats(keys, slots, starts + first, counted - first, 1, page_size, kind)
        chosen = (counted > 0).nonzero().squeeze(1)
        for out, stat in zip((low, high), stats, strict=True):
            out[chosen, :, page[chosen].long()] = stat[chosen, :, 0]
        return
    number = -(-int(counted.max()) // page_size)
    stats = _stats(keys, slots, starts, counted, number, page_size, kind)
    has_entry = torch.arange(0, number * page_size, page_size) < counted[:, None]
    for out, stat in zip((low, high), stats, strict=True):
        seen = out[:, :, :number]
        seen.copy_(torch.where(has_entry[:, None, :, None], stat, seen))


def _stats(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    pages: int,
    page_size: int,
    kind: str,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Both statistics, (rows, kv_heads, pages, head_dim); of an empty page they mean nothing."""
    entries = region_entries(keys, slots, starts, pages * page_size).float()
    paged = entries.reshape(*entries.shape[:2], pages, page_size, -1)
    place = torch.arange(pages * page_size).view(pages, page_size)
    free = (place >= lengths[:, None, None])[:, None, :, :, None]
    if kind == "minmax":
        return (
            paged.masked_fill(free, math.inf).amin(dim=3),
            paged.masked_fill(free, -math.inf).amax(dim=3),
        )
    counts = (~free).sum(dim=3).clamp(min=1)
    mean = paged.masked_fill(free, 0.0).sum(dim=3) / counts
    squares = (paged - mean.unsqueeze(3)).masked_fill(free, 0.0).square().sum(dim=3)
    return mean, (squares / counts).sqrt()
