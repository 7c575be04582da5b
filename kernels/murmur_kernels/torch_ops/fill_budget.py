"""`fill_budget`: the group of every list place is found in the sums of the sizes."""

from __future__ import annotations

import torch


def fill_budget_torch(
    order: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    indices: torch.Tensor,
    num_indices: torch.Tensor,
    permutation: torch.Tensor | None,
    starts: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """`fill_budget` on checked arguments."""
    if order.numel() == 0:
        total = torch.zeros_like(budgets)
    else:
        first, sizes = ordered_groups(order, node_starts, node_ends, counts)
        ends = sizes.cumsum(dim=2)
        total = torch.minimum(budgets, ends[:, :, -1]).clamp(0, indices.shape[2])
        if active is not None:
            total = total * active[:, None]
        most = int(total.max())
        place = torch.arange(most).expand(*total.shape, most)
        group = torch.searchsorted(ends, place.contiguous(), right=True)
        group = group.clamp(max=order.shape[2] - 1)
        entry = place + (first - ends + sizes).gather(2, group)
        used = place < total.unsqueeze(2)
        if permutation is not None:
            entry = permutation.gather(2, entry.where(used, 0))
        if starts is not None:
            entry = entry + starts[:, None, None]
        filled = indices[:, :, :most]
        filled.copy_(torch.where(used, entry, filled))
    if active is None:
        num_indices.copy_(total)
    else:
        num_indices[active] = total[active].to(torch.int32)


def ordered_groups(
    order: torch.Tensor, node_starts: torch.Tensor, node_ends: torch.Tensor, counts: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """First place and size of the groups in their order; those beyond the count are empty."""
    used = torch.arange(order.shape[2]) < counts.unsqueeze(2)
    group = order.long().where(used, 0)
    first = node_starts.gather(2, group)
    return first, (node_ends.gather(2, group) - first).where(used, 0)
