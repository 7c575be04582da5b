"""Decode attention by torch's own operations, on views of the arena; any device and dtype."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_kernels.ranges import Range, StepRanges


def views_attention(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    step: StepRanges,
    scale: float,
    probe_heads: Sequence[int],
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """`decode_attention` on checked arguments.

    Rows that lie in consecutive slots and read the same ranges are computed together. Nothing
    is copied out of a contiguous arena of the query's dtype; of another dtype the selected
    entries are converted.
    """
    rows, heads, dim = query.shape
    kv_heads = keys.shape[1]
    out = torch.empty_like(query)
    probabilities_at = None
    if probe_heads:
        probabilities_at = torch.zeros(rows, len(probe_heads), step.capacity, device=query.device)
    for first, last in _runs(step):
        count = last - first
        # (rows * kv_heads, group, head_dim): one small matrix product per KV head
        q = query[first:last].reshape(count * kv_heads, heads // kv_heads, dim) * scale
        slot, spans = step.slots[first], step.ranges[first]
        scores = [torch.bmm(q, _entries(keys, slot, count, span, q.dtype).mT) for span in spans]
        joined = scores[0] if len(scores) == 1 else torch.cat(scores, dim=2)
        probabilities = torch.softmax(joined.float(), dim=2)
        sizes = [end - start for start, end in spans]
        result = torch.zeros_like(q)
        for span, weights in zip(
            spans, torch.split(probabilities.to(q.dtype), sizes, 2), strict=True
        ):
            result.baddbmm_(weights, _entries(values, slot, count, span, q.dtype))
        out[first:last] = result.view(count, heads, dim)
        if probabilities_at is not None:
            by_head = probabilities.view(count, heads, sum(sizes))[:, list(probe_heads)]
            for (start, end), part in zip(spans, torch.split(by_head, sizes, 2), strict=True):
                probabilities_at[first:last, :, start:end] = part
    return out, probabilities_at


def _entries(
    cache: torch.Tensor, first_slot: int, rows: int, span: Range, dtype: torch.dtype
) -> torch.Tensor:
    """(rows * kv_heads, entries, head_dim): a range of consecutive slots."""
    # A view for a contiguous arena; another layout has its selected entries copied.
    return cache[first_slot : first_slot + rows, :, span[0] : span[1]].flatten(0, 1).to(dtype)


def _runs(step: StepRanges) -> list[tuple[int, int]]:
    """Row index ranges of consecutive slots that read the same entries."""
    runs: list[tuple[int, int]] = []
    for row in range(len(step.slots)):
        if runs:
            first = runs[-1][0]
            if (
                step.slots[row] == step.slots[row - 1] + 1
                and step.ranges[row] == step.ranges[first]
            ):
                runs[-1] = (first, row + 1)
                continue
        runs.append((row, row + 1))
    return runs
