"""One tensor's part of `range_summaries`, from two rows of sums per range."""

from __future__ import annotations

import torch


def range_means_torch(
    sums: torch.Tensor,
    center: torch.Tensor,
    ranges: torch.Tensor,
    counts: torch.Tensor,
    out: torch.Tensor,
    log_counts: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """Means of the ranges, and the logarithms of their sizes, on checked arguments."""
    used = torch.arange(ranges.shape[2]) < counts.unsqueeze(2)
    if active is not None:
        used &= active[:, None, None]
    start, end = ranges.where(used.unsqueeze(3), 0).long().unbind(dim=3)
    sizes = (end - start).float()
    total = _rows(sums, end) - _rows(sums, start)
    means = (center.unsqueeze(2) + total / sizes.unsqueeze(3)).to(out.dtype)
    out.copy_(means.where(used.unsqueeze(3), out))
    if log_counts is not None:
        log_counts.copy_(sizes.log().where(used, log_counts))


def _rows(sums: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """(rows, kv_heads, ranges, head_dim): the sums at these places."""
    if not sums.is_contiguous():
        return sums.gather(2, place.unsqueeze(3).expand(-1, -1, -1, sums.shape[3]))
    rows, heads, places, dim = sums.shape
    first = torch.arange(rows * heads).view(rows, heads, 1) * places
    return sums.view(-1, dim).index_select(0, (first + place).flatten()).view(*place.shape, dim)
