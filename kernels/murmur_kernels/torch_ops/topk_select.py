"""`topk_select`: finds the last chosen rank, then takes what is above it and first of equals."""

from __future__ import annotations

import torch

_FREE = -(2**31)
_NAN = _FREE + 1
_PROTECTED = 2**31 - 1


def topk_select_torch(
    scores: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    indices: torch.Tensor,
    num_indices: torch.Tensor,
    protected: torch.Tensor | None,
    starts: torch.Tensor | None,
    active: torch.Tensor | None,
) -> None:
    """`topk_select` on checked arguments."""
    entries = scores.shape[2]
    chosen = torch.minimum(budgets, counts).clamp(0, min(indices.shape[2], entries))
    if active is not None:
        chosen = chosen * active[:, None]
    most = int(chosen.max()) if chosen.numel() else 0
    if most:
        ranks = _ranks(scores, counts, protected)
        best = torch.topk(ranks, most, dim=2).values
        last = best.gather(2, (chosen.unsqueeze(2) - 1).clamp(min=0).long())
        above, equal = ranks > last, ranks == last
        missing = chosen.unsqueeze(2) - above.sum(dim=2, keepdim=True)
        take = above | (equal & (equal.cumsum(dim=2) <= missing))
        take &= (chosen > 0).unsqueeze(2)
        row, head, entry = take.nonzero(as_tuple=True)
        place = take.cumsum(dim=2)[row, head, entry] - 1
        if starts is not None:
            entry = entry + starts[row]
        indices[row, head, place] = entry.to(torch.int32)
    if active is None:
        num_indices.copy_(chosen)
    else:
        num_indices[active] = chosen[active]


def _ranks(
    scores: torch.Tensor, counts: torch.Tensor, protected: torch.Tensor | None
) -> torch.Tensor:
    """int32 in the order of the scores, with room above and below them."""
    bits = torch.where(scores == 0, 0.0, scores).view(torch.int32)  # -0.0 becomes 0.0
    # The bits of a negative number count up where the number goes down.
    ranks = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    ranks = ranks.masked_fill(scores.isnan(), _NAN)
    if protected is not None:
        ranks = ranks.masked_fill(protected, _PROTECTED)
    return ranks.masked_fill(torch.arange(scores.shape[2]) >= counts.unsqueeze(2), _FREE)
