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
    row, head, number = used.nonzero(as_tuple=True)
    start, end = ranges[row, head, number].long().unbind(dim=1)
    sizes = (end - start).float()
    total = sums[row, head, end] - sums[row, head, start]
    out[row, head, number] = (center[row, head] + total / sizes[:, None]).to(out.dtype)
    if log_counts is not None:
        log_counts[row, head, number] = sizes.log()
