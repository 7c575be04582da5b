"""Where the attention over a selection's terms lies among the entries of the slots."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_kernels import Selection


def by_entry(
    terms: torch.Tensor,
    selection: Selection,
    summary_ranges: torch.Tensor | None,
    heads: Sequence[int],
    capacity: int,
) -> torch.Tensor:
    """Probabilities (rows, probes, capacity) at entries of the slots.

    A summary's probability is shared out evenly among the entries that it stands for.

    terms: (rows, probes, terms), `Attended.probabilities` of this selection; summary_ranges:
    (rows, kv_heads, S, 2), entries of the slot; heads: the KV head of each probe.
    """
    rows, probes, _ = terms.shape
    picked = list(heads)
    # One more column takes what is no term.
    out = torch.zeros(rows, probes, capacity + 1, device=terms.device)
    spans = [selection.ranges[:, None].expand(-1, probes, -1, -1)]
    known = [
        _first(selection.num_ranges, selection.ranges.shape[1])[:, None].expand(-1, probes, -1)
    ]
    if selection.head_ranges is not None and selection.num_head_ranges is not None:
        spans.append(selection.head_ranges[:, picked])
        known.append(_first(selection.num_head_ranges[:, picked], selection.head_ranges.shape[2]))
    offset = _add_ranges(out, terms, torch.cat(spans, dim=2), torch.cat(known, dim=2))
    if selection.indices is not None and selection.num_indices is not None:
        number = selection.num_indices[:, picked]
        entries = selection.indices[:, picked].long()
        listed = _first(number, entries.shape[2])
        out.scatter_add_(2, entries.where(listed, capacity), _from(terms, offset, entries.shape[2]))
        offset = offset + number
    if summary_ranges is not None:
        _add_summaries(out, terms, offset, summary_ranges[:, picked].long())
    return out[:, :, :capacity]


def ranges_by_entry(terms: torch.Tensor, selection: Selection, capacity: int) -> torch.Tensor:
    """As `by_entry` for a selection of shared ranges alone, in shapes that depend on no value of
    it: nobody waits for the device, and a CUDA graph holds it."""
    rows, probes, width = terms.shape
    out = torch.zeros(rows, probes, capacity + 1, device=terms.device)
    spans = selection.ranges[:, None].expand(-1, probes, -1, -1)
    known = _first(selection.num_ranges, selection.ranges.shape[1])[:, None].expand(-1, probes, -1)
    _add_ranges(out, terms, spans, known, most=width)
    return out[:, :, :capacity]


def _add_ranges(
    out: torch.Tensor,
    terms: torch.Tensor,
    spans: torch.Tensor,
    known: torch.Tensor,
    most: int | None = None,
) -> torch.Tensor:
    """Add the terms that are entries of ranges; how many there are, (rows, probes).

    most: a bound of that number; None asks the device for it.
    """
    start, end = spans.long().unbind(dim=3)
    sizes = torch.where(known, end - start, 0)
    upto = sizes.cumsum(dim=2)
    total = upto[:, :, -1]
    if most is None:
        most = int(total.max()) if total.numel() else 0
    term = torch.arange(most, device=terms.device).expand(*total.shape, most).contiguous()
    number = torch.searchsorted(upto, term, right=True).clamp(max=sizes.shape[2] - 1)
    entry = (start - upto + sizes).gather(2, number) + term
    out.scatter_add_(
        2, entry.where(term < total.unsqueeze(2), out.shape[2] - 1), terms[:, :, :most].float()
    )
    return total


def _add_summaries(
    out: torch.Tensor, terms: torch.Tensor, offset: torch.Tensor, spans: torch.Tensor
) -> None:
    start, end = spans.unbind(dim=3)
    each = _from(terms, offset, start.shape[2]) / (end - start).clamp(min=1)
    each = each.where(end > start, 0.0)
    # Steps up and down, whose running sum is the level. In float64: what goes up comes down.
    steps = torch.zeros(out.shape, dtype=torch.float64, device=out.device)
    steps.scatter_add_(2, start, each.double()).scatter_add_(2, end, -each.double())
    out += steps.cumsum(dim=2).clamp(min=0)


def _from(terms: torch.Tensor, offset: torch.Tensor, count: int) -> torch.Tensor:
    """(rows, probes, count): terms from `offset` (rows, probes) on."""
    place = offset.unsqueeze(2).long() + torch.arange(count, device=terms.device)
    return terms.gather(2, place.clamp(max=terms.shape[2] - 1)).float()


def _first(counts: torch.Tensor, size: int) -> torch.Tensor:
    """(…, size) bool: the first of each."""
    return torch.arange(size, device=counts.device) < counts.unsqueeze(-1)
