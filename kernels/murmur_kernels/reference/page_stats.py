"""Float64 reference of `murmur_kernels.page_stats`, one page at a time."""

from __future__ import annotations

import torch


def page_stats_reference(
    keys: torch.Tensor,
    slots: list[int],
    starts: list[int],
    lengths: list[int],
    page_size: int,
    kind: str,
) -> list[list[list[tuple[torch.Tensor, torch.Tensor]]]]:
    """[row][head][page]: both statistics, (head_dim,) float64."""
    rows = []
    for slot, start, length in zip(slots, starts, lengths, strict=True):
        heads = []
        for head in range(keys.shape[1]):
            entries = keys[slot, head, start : start + length].double()
            pages = torch.split(entries, page_size) if length else ()
            heads.append([_page(page, kind) for page in pages])
        rows.append(heads)
    return rows


def _page(k: torch.Tensor, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    if kind == "minmax":
        return k.min(dim=0).values, k.max(dim=0).values
    return k.mean(dim=0), k.std(dim=0, correction=0)
