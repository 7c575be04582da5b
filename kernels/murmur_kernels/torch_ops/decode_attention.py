"""Decode attention by torch's own operations, in float32.

Ranges that all KV heads share are read as views of the arena, what is listed per KV head is
gathered. Of a selection each of these parts has a softmax of its own, and parts are joined by
their log-sum-exp.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_kernels.attended import Attended
from murmur_kernels.checks import check_slots, check_within
from murmur_kernels.ranges import Range, Ranges, StepRanges
from murmur_kernels.selection import Selection, Summaries
from murmur_kernels.torch_ops.second_order import log_gains, spread_steps


def attention_over_ranges(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    step: StepRanges,
    scale: float,
    probe_heads: Sequence[int] = (),
    *,
    log_sum_exp: bool = False,
) -> Attended:
    """`decode_attention` of `StepRanges` on checked arguments.

    Rows that lie in consecutive slots and read the same ranges are computed together. Nothing
    is copied out of a contiguous arena in float32; of another dtype the selected entries are
    converted.
    """
    rows, heads, _ = query.shape
    out = torch.empty_like(query)
    probabilities = lse = None
    if probe_heads:
        probabilities = torch.zeros(rows, len(probe_heads), step.capacity)
    if log_sum_exp:
        lse = torch.empty(rows, heads)
    for first, last in _runs(step.slots, step.ranges):
        slot, spans = step.slots[first], step.ranges[first]
        scores = _range_scores(query[first:last], keys, slot, spans, scale)
        shares = torch.softmax(scores, dim=2)
        out[first:last] = _range_mean(shares, values, slot, spans).view(out[first:last].shape)
        if lse is not None:
            lse[first:last] = torch.logsumexp(scores, dim=2).view(-1, heads)
        if probabilities is not None:
            by_head = shares.view(last - first, heads, -1)[:, list(probe_heads)]
            sizes = [end - start for start, end in spans]
            for (start, end), part in zip(spans, torch.split(by_head, sizes, 2), strict=True):
                probabilities[first:last, :, start:end] = part
    return Attended(out, probabilities, lse)


def attention_over_selection(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    selection: Selection,
    scale: float,
    probe_heads: Sequence[int] = (),
    *,
    log_sum_exp: bool = False,
) -> Attended:
    """`decode_attention` of a `Selection` on checked arguments."""
    rows, heads, dim = query.shape
    kv_heads, capacity = keys.shape[1:3]
    grouped = query.float().view(rows, kv_heads, heads // kv_heads, dim)
    active = selection.active
    check_slots(selection.slots[active].tolist(), keys.shape[0])
    slots = torch.where(active, selection.slots, 0)
    parts = [_ranges_part(query, keys, values, selection, scale)]
    if selection.head_ranges is not None and selection.num_head_ranges is not None:
        counts = torch.where(active[:, None], selection.num_head_ranges, 0)
        entries, known = _range_entries(selection.head_ranges, counts)
        parts.append(_gathered_part(grouped, keys, values, slots, entries, known, scale))
    if selection.indices is not None and selection.num_indices is not None:
        counts = torch.where(active[:, None], selection.num_indices, 0)
        known = _first(counts)
        entries = selection.indices[:, :, : known.shape[2]].long()
        parts.append(_gathered_part(grouped, keys, values, slots, entries, known, scale))
    if selection.summaries is not None:
        counts = torch.where(active[:, None], selection.summaries.counts, 0)
        parts.append(_summaries_part(grouped, selection.summaries, counts, scale))
    lse = torch.logsumexp(torch.stack([part.log_sum for part in parts]), dim=0)
    # A part without terms has no weight, also where no part has any.
    weights = [
        torch.where(part.log_sum == -torch.inf, 0.0, torch.exp(part.log_sum - lse))
        for part in parts
    ]
    joined = [part.mean * weight[..., None] for part, weight in zip(parts, weights, strict=True)]
    out = torch.stack(joined).sum(dim=0)
    if selection.summaries is not None and selection.summaries.second_order is not None:
        tilted = grouped @ selection.summaries.second_order.tilts.float() * scale
        # A row that has no summaries may hold anything for them.
        out += torch.where(weights[-1][..., None] > 0, weights[-1][..., None] * tilted, 0.0)
    probabilities = None
    if probe_heads:
        probabilities = torch.zeros(rows, len(probe_heads), selection.terms_bound(capacity))
        _place(parts, weights, probabilities, probe_heads)
    return Attended(
        out.view(query.shape).to(query.dtype),
        probabilities,
        lse.view(rows, heads) if log_sum_exp else None,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """Attention over some of the terms of each (row, KV head).

    Attributes:
        mean: (rows, kv_heads, group, head_dim), zero without terms.
        log_sum: (rows, kv_heads, group), -inf without terms.
        shares: (rows, kv_heads, group, terms), probabilities within the part.
        known: (rows, kv_heads, terms) bool: the first of them are terms, the others none.
    """

    mean: torch.Tensor
    log_sum: torch.Tensor
    shares: torch.Tensor
    known: torch.Tensor


def _ranges_part(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    selection: Selection,
    scale: float,
) -> _Part:
    rows, heads, dim = query.shape
    kv_heads = keys.shape[1]
    group = heads // kv_heads
    slots = selection.slots.tolist()
    counts = torch.where(selection.active, selection.num_ranges, 0).tolist()
    ranges: list[Ranges] = [
        tuple((start, end) for start, end in spans[:count] if start < end)
        for spans, count in zip(selection.ranges.tolist(), counts, strict=True)
    ]
    check_within(ranges, keys.shape[2])
    totals = [sum(end - start for start, end in spans) for spans in ranges]
    mean = torch.zeros(rows, kv_heads, group, dim)
    log_sum = torch.full((rows, kv_heads, group), -torch.inf)
    shares = torch.zeros(rows, kv_heads, group, max(totals, default=0))
    for first, last in _runs(slots, ranges):
        if not ranges[first]:
            continue
        scores = _range_scores(query[first:last], keys, slots[first], ranges[first], scale)
        part = torch.softmax(scores, dim=2)
        found = _range_mean(part, values, slots[first], ranges[first])
        mean[first:last] = found.view(-1, kv_heads, group, dim)
        log_sum[first:last] = torch.logsumexp(scores, dim=2).view(-1, kv_heads, group)
        shares[first:last, ..., : totals[first]] = part.view(-1, kv_heads, group, totals[first])
    known = _first(torch.tensor(totals, dtype=torch.int32)[:, None].expand(rows, kv_heads))
    return _Part(mean, log_sum, shares, known)


def _range_scores(
    query: torch.Tensor, keys: torch.Tensor, slot: int, spans: Ranges, scale: float
) -> torch.Tensor:
    """(rows * kv_heads, group, entries) of rows in consecutive slots that read the same."""
    rows, heads, dim = query.shape
    kv_heads = keys.shape[1]
    # One small matrix product per KV head.
    q = query.float().reshape(rows * kv_heads, heads // kv_heads, dim) * scale
    scores = [torch.bmm(q, _entries(keys, slot, rows, span).mT) for span in spans]
    return scores[0] if len(scores) == 1 else torch.cat(scores, dim=2)


def _range_mean(
    shares: torch.Tensor, values: torch.Tensor, slot: int, spans: Ranges
) -> torch.Tensor:
    """(rows * kv_heads, group, head_dim): values weighted by shares (…, …, entries)."""
    rows = shares.shape[0] // values.shape[1]
    mean = torch.zeros(*shares.shape[:2], values.shape[3])
    sizes = [end - start for start, end in spans]
    for span, part in zip(spans, torch.split(shares, sizes, 2), strict=True):
        mean.baddbmm_(part, _entries(values, slot, rows, span))
    return mean


def _entries(cache: torch.Tensor, first_slot: int, rows: int, span: Range) -> torch.Tensor:
    """(rows * kv_heads, entries, head_dim) float32: a range of consecutive slots."""
    # A view for a contiguous arena in float32; of another one its selected entries are copied.
    return cache[first_slot : first_slot + rows, :, span[0] : span[1]].flatten(0, 1).float()


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


def _first(counts: torch.Tensor) -> torch.Tensor:
    """(rows, kv_heads, largest count) bool: the first of each."""
    largest = int(counts.max()) if counts.numel() else 0
    return counts[..., None] > torch.arange(largest)


def _range_entries(ranges: torch.Tensor, counts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Entries of the first ranges of each KV head (rows, kv_heads, entries), and which are."""
    known_ranges = counts[..., None] > torch.arange(ranges.shape[2])
    start, end = ranges.long().unbind(dim=3)
    upto = torch.where(known_ranges, end - start, 0).cumsum(dim=2)
    known = _first(upto[:, :, -1] if ranges.shape[2] else torch.zeros_like(counts))
    place = torch.arange(known.shape[2]).expand(known.shape)
    number = torch.searchsorted(upto, place.contiguous(), right=True)
    number.clamp_(max=max(0, ranges.shape[2] - 1))
    first = torch.gather(upto - (end - start), 2, number)
    return torch.gather(start, 2, number) + place - first, known


def _gathered_part(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    slots: torch.Tensor,
    entries: torch.Tensor,
    known: torch.Tensor,
    scale: float,
) -> _Part:
    """Entries (rows, kv_heads, terms) of each KV head, copied out of the arena where known."""
    row, head, _ = known.nonzero(as_tuple=True)
    listed = entries[known]
    capacity = keys.shape[2]
    if len(listed) and not (int(listed.min()) >= 0 and int(listed.max()) < capacity):
        raise ValueError(f"an entry listed per KV head is outside the arena's 0 to {capacity - 1}")
    where = (slots.long()[row], head, listed)
    copies = [cache[where].float() for cache in (keys, values)]
    if len(listed) == known.numel():
        k, v = (copy.view(*known.shape, query.shape[3]) for copy in copies)
    else:
        k, v = torch.zeros(2, *known.shape, query.shape[3])
        k[known], v[known] = copies
    return _softmax_part(query @ k.mT * scale, v, known)


def _summaries_part(
    query: torch.Tensor, summaries: Summaries, counts: torch.Tensor, scale: float
) -> _Part:
    known = _first(counts)
    size = known.shape[2]
    unknown = ~known[..., None]
    mean_keys = summaries.keys[:, :, :size].float().masked_fill(unknown, 0)
    mean_values = summaries.values[:, :, :size].float().masked_fill(unknown, 0)
    log_counts = summaries.log_counts[:, :, None, :size]
    if summaries.second_order is not None:
        deviations = summaries.second_order.deviations[:, :, None, :size]
        log_counts = log_counts + log_gains(spread_steps(query, deviations, scale))
    return _softmax_part(query @ mean_keys.mT * scale + log_counts, mean_values, known)


def _softmax_part(scores: torch.Tensor, values: torch.Tensor, known: torch.Tensor) -> _Part:
    """Of scores (rows, kv_heads, group, terms) and values (rows, kv_heads, terms, head_dim)."""
    scores = scores.masked_fill(~known[:, :, None], -torch.inf)
    log_sum = torch.logsumexp(scores, dim=3)
    finite = log_sum.masked_fill(log_sum == -torch.inf, 0)
    shares = torch.exp(scores - finite[..., None])
    return _Part(shares @ values, log_sum, shares, known)


def _place(
    parts: Sequence[_Part],
    weights: Sequence[torch.Tensor],
    probabilities: torch.Tensor,
    probe_heads: Sequence[int],
) -> None:
    """Write the probe heads' probabilities, part after part."""
    rows, kv_heads, group = weights[0].shape
    offset = torch.zeros(rows, kv_heads, dtype=torch.long)
    for part, weight in zip(parts, weights, strict=True):
        size = part.known.shape[2]
        for number, head in enumerate(probe_heads):
            kv_head, member = divmod(head, group)
            known = part.known[:, kv_head]
            row = known.nonzero(as_tuple=True)[0]
            place = (offset[:, kv_head, None] + torch.arange(size))[known]
            shares = part.shares[:, kv_head, member] * weight[:, kv_head, member, None]
            probabilities[row, number, place] = shares[known]
        offset += part.known.sum(dim=2)
