"""Float64 reference of `murmur_kernels.decode_attention`, one (row, query head) at a time."""

from __future__ import annotations

from typing import NamedTuple

import torch

from murmur_kernels.selection import MOST_GAIN, Selection


class ReferenceAttention(NamedTuple):
    """Results of the op in float64, and what its error is measured by.

    Attributes:
        out: (rows, heads, head_dim).
        log_sum_exp: (rows, heads).
        probabilities: (rows, heads, terms) in the order of the selection, zero beyond.
        entries: of each row and KV head, the arena entries of its first terms, in order.
        absolute: (rows, heads, head_dim), sum over terms of probability * |value|, and what tilts
            add with all signs positive.
        magnitude: (rows, heads), largest scale * sum |q_c k_c| + |log_count| of a term.
    """

    out: torch.Tensor
    log_sum_exp: torch.Tensor
    probabilities: torch.Tensor
    entries: list[list[list[int]]]
    absolute: torch.Tensor
    magnitude: torch.Tensor


def decode_attention_reference(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    selection: Selection,
    scale: float,
) -> ReferenceAttention:
    """Same arguments as the op, computed in float64 from the given (rounded) inputs."""
    rows, heads, dim = query.shape
    kv_heads, capacity = keys.shape[1:3]
    out, absolute = query.new_zeros(2, rows, heads, dim, dtype=torch.float64)
    magnitude = out.new_zeros(rows, heads)
    log_sum_exp = torch.full_like(magnitude, -torch.inf)
    probabilities = out.new_zeros(rows, heads, selection.terms_bound(capacity))
    entries = [
        [selected_entries(selection, row, h) for h in range(kv_heads)] for row in range(rows)
    ]
    for row in range(rows):
        for head in range(heads):
            kv_head = head // (heads // kv_heads)
            slot, listed = int(selection.slots[row]), entries[row][kv_head]
            if listed:
                k, v = keys[slot, kv_head, listed].double(), values[slot, kv_head, listed].double()
            else:  # the slot of a row that selects nothing need not exist
                k, v = out.new_zeros(2, 0, dim)
            log_counts = out.new_zeros(len(listed))
            if selection.summaries is not None and selection.active[row]:
                means = selection.summaries
                number = int(means.counts[row, kv_head])
                k = torch.cat([k, means.keys[row, kv_head, :number].double()])
                v = torch.cat([v, means.values[row, kv_head, :number].double()])
                added = means.log_counts[row, kv_head, :number].double()
                if means.second_order is not None:
                    deviations = means.second_order.deviations[row, kv_head, :number].double()
                    length = query[row, head].double().norm() * abs(scale)
                    added = added + (length * deviations).square().div(2).clamp(max=MOST_GAIN)
                log_counts = torch.cat([log_counts, added])
            if not len(k):
                continue
            q = query[row, head].double()
            scores = k @ q * scale + log_counts
            weights = torch.softmax(scores, dim=0)
            out[row, head] = weights @ v
            spread = None if selection.summaries is None else selection.summaries.second_order
            if spread is not None and len(k) > len(listed):
                tilt = spread.tilts[row, kv_head].double()
                share = weights[len(listed) :].sum() * scale
                out[row, head] += share * (q @ tilt)
                absolute[row, head] += share.abs() * (q.abs() @ tilt.abs())
            absolute[row, head] += weights @ v.abs()
            log_sum_exp[row, head] = torch.logsumexp(scores, dim=0)
            probabilities[row, head, : len(k)] = weights
            magnitude[row, head] = (k.abs() @ q.abs() * abs(scale) + log_counts.abs()).max()
    return ReferenceAttention(out, log_sum_exp, probabilities, entries, absolute, magnitude)


def selected_entries(selection: Selection, row: int, kv_head: int) -> list[int]:
    """Arena entries of a (row, KV head) in the order of the selection."""
    if not selection.active[row]:
        return []
    spans = selection.ranges[row, : selection.num_ranges[row]].tolist()
    if selection.head_ranges is not None and selection.num_head_ranges is not None:
        number = selection.num_head_ranges[row, kv_head]
        spans += selection.head_ranges[row, kv_head, :number].tolist()
    entries = [entry for start, end in spans for entry in range(start, end)]
    if selection.indices is not None and selection.num_indices is not None:
        number = selection.num_indices[row, kv_head]
        entries += selection.indices[row, kv_head, :number].tolist()
    return entries
