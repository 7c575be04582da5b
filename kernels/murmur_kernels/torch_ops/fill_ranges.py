"""`fill_ranges` from the sums of the sizes."""

from __future__ import annotations

import torch

from murmur_kernels.torch_ops.fill_budget import ordered_groups


def fill_ranges_torch(
    order: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    ranges: torch.Tensor,
    num_ranges: torch.Tensor,
    rest: torch.Tensor,
    num_rest: torch.Tensor,
    starts: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """`fill_ranges` on checked arguments."""
    first, sizes = ordered_groups(order, node_starts, node_ends, counts)
    before = sizes.cumsum(dim=2) - sizes
    taken = torch.minimum((budgets.unsqueeze(2) - before).clamp(min=0), sizes)
    # Empty groups take no range: a group's range is its number among those that take something.
    taken[(taken > 0).cumsum(dim=2) > ranges.shape[2]] = 0
    cut = first + taken
    offset = 0 if starts is None else starts[:, None, None]
    _write(ranges, num_ranges, first + offset, cut + offset, active)
    _write(rest, num_rest, cut, first + sizes, active)


def _write(
    out: torch.Tensor,
    number: torch.Tensor,
    starts: torch.Tensor,
    ends: torch.Tensor,
    active: torch.Tensor | None,
) -> None:
    """Write the ranges that are not empty, closed up."""
    used = starts < ends
    if active is not None:
        used &= active[:, None, None]
    row, head, group = used.nonzero(as_tuple=True)
    place = used.cumsum(dim=2)[row, head, group] - 1
    spans = torch.stack((starts, ends), dim=3)[row, head, group]
    out[row, head, place] = spans.to(torch.int32)
    counts = used.sum(dim=2).to(torch.int32)
    if active is None:
        number.copy_(counts)
    else:
        number[active] = counts[active]
