"""Device code of decode attention: one split of the terms, and what joins splits.

The terms of a (row, KV head) are numbered through ranges, head ranges, indices and summaries. A
program takes one split of that numbering, for all query heads of the group. A split without
terms reads nothing of the arena, one without summaries nothing of what belongs to them.
"""

from __future__ import annotations

import triton
import triton.language as tl

from murmur_kernels.triton_kernels.running_softmax import (
    add_terms,
    add_weighted,
    dots,
    finite,
    mean_and_lse,
)


@triton.jit
def _spans(edges, count, PADDED: tl.constexpr):
    """Half-open ranges one after another: first term, gap to the range before, and all terms."""
    number = tl.arange(0, PADDED)
    known = number < count
    start = tl.load(edges + 2 * number, mask=known, other=0)
    end = tl.load(edges + 2 * number + 1, mask=known, other=0)
    end_before = tl.load(edges + 2 * number - 1, mask=known & (number > 0), other=0)
    length = end - start
    return tl.cumsum(length, 0) - length, start - end_before, tl.sum(length, 0)


@triton.jit
def _entries(term, first_term, gap):
    """Arena entry of each term: itself plus all gaps up to its range."""
    return term + tl.sum(tl.where(term[:, None] >= first_term[None, :], gap[None, :], 0), 1)


@triton.jit
def _tile(first, numbers, stride, known, dim, DIM: tl.constexpr):
    """(numbers, dim) vectors that start at first + numbers * stride; zeros where not known."""
    mask = known[:, None]
    if dim.shape[0] != DIM:
        mask = mask & (dim < DIM)[None, :]
    offsets = numbers.to(tl.int64) * stride
    return tl.load(first + offsets[:, None] + dim[None, :], mask=mask, other=0.0)


@triton.jit
def _half_square(q, GROUPED: tl.constexpr):
    """Half the square of the length of each head's query, (heads, 1)."""
    wide = q.to(tl.float32)
    squares = tl.sum(wide * wide, 1)
    # Of one head a number: a vector's layout would spread to the tiles, which then spill.
    return squares[:, None] / 2 if GROUPED else tl.sum(squares, 0) / 2


@triton.jit
def attend_split(
    query,
    query_row,
    query_head,
    query_dim,
    keys,
    key_slot,
    key_head,
    key_entry,
    values,
    value_slot,
    value_head,
    value_entry,
    num_slots,
    capacity,
    scale,
    slots,
    slots_row,
    active,
    active_row,
    ranges,
    ranges_row,
    num_ranges,
    num_ranges_row,
    head_ranges,
    head_ranges_row,
    head_ranges_head,
    num_head_ranges,
    num_head_ranges_row,
    num_head_ranges_head,
    indices,
    indices_row,
    indices_head,
    num_indices,
    num_indices_row,
    num_indices_head,
    mean_keys,
    mean_key_row,
    mean_key_head,
    mean_key_number,
    mean_values,
    mean_value_row,
    mean_value_head,
    mean_value_number,
    log_counts,
    log_count_row,
    log_count_head,
    log_count_number,
    num_means,
    num_means_row,
    num_means_head,
    deviations,
    deviation_row,
    deviation_head,
    deviation_number,
    tilts,
    tilt_row,
    tilt_head,
    out,
    out_row,
    out_head,
    out_split,
    lse,
    lse_row,
    lse_head,
    lse_split,
    scores,
    scores_row,
    scores_head,
    scores_width,
    GROUP: tl.constexpr,
    GROUP_PADDED: tl.constexpr,
    DIM: tl.constexpr,
    DIM_PADDED: tl.constexpr,
    BLOCK: tl.constexpr,
    RANGES: tl.constexpr,
    HEAD_RANGES: tl.constexpr,
    HAS_INDICES: tl.constexpr,
    HAS_MEANS: tl.constexpr,
    HAS_SECOND_ORDER: tl.constexpr,
    MOST_GAIN: tl.constexpr,
    HAS_LSE: tl.constexpr,
    HAS_SCORES: tl.constexpr,
    SCORES_AT_ENTRIES: tl.constexpr,
    WIDE: tl.constexpr,
):
    """One split of the terms of a (row, KV head): softmax-weighted mean and log-sum-exp."""
    split = tl.program_id(0)
    kv_head, row = tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    GROUPED: tl.constexpr = GROUP_PADDED > 1
    is_active = tl.load(active + row * active_row) != 0
    slot = tl.load(slots + row * slots_row, mask=is_active, other=0).to(tl.int64)
    # What lies outside the arena must not be read, and cannot be told from here.
    is_active = is_active & (slot >= 0) & (slot < num_slots)
    member = tl.arange(0, GROUP_PADDED)
    head = kv_head * GROUP + member
    is_head = member < GROUP
    dim = tl.arange(0, DIM_PADDED)
    in_out = is_head[:, None] & (dim < DIM)[None, :]

    # Terms end, section by section, at:
    count = tl.load(num_ranges + row * num_ranges_row, mask=is_active, other=0)
    range_first, range_gap, ranges_end = _spans(ranges + row * ranges_row, count, RANGES)
    head_ranges_end = ranges_end
    if HEAD_RANGES > 0:
        count_at = num_head_ranges + row * num_head_ranges_row + kv_head * num_head_ranges_head
        count = tl.load(count_at, mask=is_active, other=0)
        edges_at = head_ranges + row * head_ranges_row + kv_head * head_ranges_head
        head_first, head_gap, head_terms = _spans(edges_at, count, HEAD_RANGES)
        head_ranges_end += head_terms
    entries_end = head_ranges_end
    if HAS_INDICES:
        count_at = num_indices + row * num_indices_row + kv_head * num_indices_head
        entries_end += tl.load(count_at, mask=is_active, other=0)
    terms_end = entries_end
    if HAS_MEANS:
        count_at = num_means + row * num_means_row + kv_head * num_means_head
        terms_end += tl.load(count_at, mask=is_active, other=0)

    split_terms = tl.cdiv(tl.cdiv(terms_end, tl.num_programs(0)), BLOCK) * BLOCK
    start = split * split_terms
    end = tl.minimum(start + split_terms, terms_end)
    query_at = query + row * query_row + head[:, None] * query_head + dim[None, :] * query_dim
    q = tl.load(query_at, mask=in_out & (start < end), other=0.0)
    top = tl.full((GROUP_PADDED,), -float("inf"), tl.float32)
    weight = tl.zeros((GROUP_PADDED,), tl.float32)
    mix = tl.zeros((GROUP_PADDED, DIM_PADDED), tl.float32)
    number = tl.arange(0, BLOCK)

    key_base = keys + slot * key_slot + kv_head * key_head
    value_base = values + slot * value_slot + kv_head * value_head
    score_base = scores
    if HAS_SCORES:
        score_base += row * scores_row + head[:, None] * scores_head
    index_base = indices
    if HAS_INDICES:
        index_base += row * indices_row + kv_head * indices_head - head_ranges_end
    split_entries_end = tl.minimum(end, entries_end)
    for block in range(start, split_entries_end, BLOCK):
        term = block + number
        known = term < split_entries_end
        entry = _entries(term, range_first, range_gap)
        if HEAD_RANGES > 0:
            of_head = _entries(term - ranges_end, head_first, head_gap)
            entry = tl.where(term >= ranges_end, of_head, entry)
        if HAS_INDICES:
            listed = term >= head_ranges_end
            index = tl.load(index_base + term, mask=listed & known, other=0)
            entry = tl.where(listed, index, entry)
        known = known & (entry >= 0) & (entry < capacity)
        k = _tile(key_base, entry, key_entry, known, dim, DIM)
        v = _tile(value_base, entry, value_entry, known, dim, DIM)
        score = dots(q, k, GROUPED, WIDE) * scale
        score = tl.where(known[None, :], score, -float("inf"))
        if HAS_SCORES:
            place = entry if SCORES_AT_ENTRIES else term
            in_scores = is_head[:, None] & (known & (place < scores_width))[None, :]
            tl.store(score_base + place[None, :], score, mask=in_scores)
        top, weight, mix = add_terms(q, score, v, top, weight, mix, GROUPED, WIDE)

    if HAS_MEANS:
        mean_key_base = mean_keys + row * mean_key_row + kv_head * mean_key_head
        mean_value_base = mean_values + row * mean_value_row + kv_head * mean_value_head
        log_count_base = log_counts + row * log_count_row + kv_head * log_count_head
        means_start = tl.maximum(start, entries_end)
        if HAS_SECOND_ORDER:
            deviation_base = deviations + row * deviation_row + kv_head * deviation_head
            half_square = _half_square(q, GROUPED) * (scale * scale)
            # The weight of the means is summed apart: a difference would be off where it is small.
            entries_top, entries_weight = top, weight
            weight = tl.zeros((GROUP_PADDED,), tl.float32)
        for block in tl.range(means_start, end, BLOCK, num_stages=3):
            term = block + number
            known = term < end
            mean = term - entries_end
            k = _tile(mean_key_base, mean, mean_key_number, known, dim, DIM)
            v = _tile(mean_value_base, mean, mean_value_number, known, dim, DIM)
            log_count = tl.load(log_count_base + mean * log_count_number, mask=known, other=0.0)
            score = dots(q, k, GROUPED, WIDE) * scale + log_count[None, :]
            if HAS_SECOND_ORDER:
                deviation_at = deviation_base + mean * deviation_number
                deviation = tl.load(deviation_at, mask=known, other=0.0)
                gain = half_square * (deviation * deviation)[None, :]
                score += tl.minimum(gain, MOST_GAIN, propagate_nan=tl.PropagateNan.ALL)
            score = tl.where(known[None, :], score, -float("inf"))
            if HAS_SCORES:
                in_scores = is_head[:, None] & (known & (term < scores_width))[None, :]
                tl.store(score_base + term[None, :], score, mask=in_scores)
            top, weight, mix = add_terms(q, score, v, top, weight, mix, GROUPED, WIDE)

        if HAS_SECOND_ORDER:
            # A split adds its own share: joined by their weights, splits hold the whole of it.
            tilt_base = tilts + row * tilt_row + kv_head * tilt_head
            tilted = tl.zeros((GROUP_PADDED, DIM_PADDED), tl.float32)
            for block in range(0, tl.where(means_start < end, DIM, 0), BLOCK):
                element = block + number
                known = element < DIM
                element_at = query + row * query_row + element[None, :] * query_dim
                in_query = is_head[:, None] & known[None, :]
                part = tl.load(element_at + head[:, None] * query_head, mask=in_query, other=0.0)
                tilt = _tile(tilt_base, element, DIM, known, dim, DIM)
                tilted = add_weighted(part, tilt, tilted, GROUPED, WIDE)
            # Where the means are of no entries, tilts are of none either, and may be anything.
            mix += tl.where(weight[:, None] == 0.0, 0.0, (weight * scale)[:, None] * tilted)
            weight += entries_weight * tl.exp(entries_top - finite(top))

    mean_value, log_sum = mean_and_lse(mix, weight, top)
    out_at = out + row * out_row + head[:, None] * out_head + split * out_split + dim[None, :]
    tl.store(out_at, mean_value.to(out.dtype.element_ty), mask=in_out)
    if HAS_LSE:
        lse_at = lse + row * lse_row + head * lse_head + split * lse_split
        tl.store(lse_at, log_sum, mask=is_head)


@triton.jit
def combine_splits(
    part,
    part_lse,
    splits,
    out,
    out_row,
    out_head,
    lse,
    lse_row,
    lse_head,
    DIM: tl.constexpr,
    DIM_PADDED: tl.constexpr,
    SPLITS_PADDED: tl.constexpr,
    HAS_LSE: tl.constexpr,
):
    """Splits of a (row, head), part (rows, heads, splits, dim), weighted by their sums."""
    head, row = tl.program_id(0), tl.program_id(1).to(tl.int64)
    first = (row * tl.num_programs(0) + head) * splits
    number, dim = tl.arange(0, SPLITS_PADDED), tl.arange(0, DIM_PADDED)
    is_split = number < splits
    part_sum = tl.load(part_lse + first + number, mask=is_split, other=-float("inf"))
    # Kept as vectors of one head.
    top = tl.max(part_sum, 0) + tl.zeros((1,), tl.float32)
    share = tl.exp(part_sum - finite(top))
    weight = tl.sum(share, 0) + tl.zeros((1,), tl.float32)
    at = part + (first + number)[:, None] * DIM + dim[None, :]
    mean = tl.load(at, mask=is_split[:, None] & (dim < DIM)[None, :], other=0.0)
    mean_value, log_sum = mean_and_lse(tl.sum(share[:, None] * mean, 0)[None, :], weight, top)
    at = out + row * out_row + head * out_head + dim[None, :]
    tl.store(at, mean_value.to(out.dtype.element_ty), mask=(dim < DIM)[None, :])
    if HAS_LSE:
        tl.store(lse + row * lse_row + head * lse_head + tl.arange(0, 1), log_sum)


@triton.jit
def normalise_scores(
    scores, scores_row, scores_head, width, lse, lse_row, lse_head, BLOCK: tl.constexpr
):
    """Scores become probabilities in place; -inf, where nothing was read, becomes zero."""
    head, row = tl.program_id(1), tl.program_id(2).to(tl.int64)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = scores + row * scores_row + head * scores_head + place
    score = tl.load(at, mask=place < width, other=-float("inf"))
    total = tl.load(lse + row * lse_row + head * lse_head)
    total = tl.where(total == -float("inf"), 0.0, total)
    probability = tl.exp(score - total)
    tl.store(at, probability, mask=place < width)
