"""`choose_groups` by the ops that score groups and torch's sorting, on any device."""

from __future__ import annotations

import torch

from murmur_kernels.centroid_score import centroid_score
from murmur_kernels.group_choice import NO_WEIGHT, GroupChoice, GroupRanking, GroupState
from murmur_kernels.page_score import page_score
from murmur_kernels.torch_ops.second_order import log_gains, spread_steps


def choose_groups_torch(
    query: torch.Tensor, choice: GroupChoice, places: torch.Tensor, scale: float
) -> None:
    """`choose_groups` on checked arguments."""
    state = choice.state
    numbers = [number for number, is_due in enumerate(choice.due) if is_due]
    if not query.is_cuda:
        slots = places.tolist()
        numbers = [n for n in numbers if 0 <= slots[n] < state.starts.shape[0]]
    if not numbers:
        return
    if len(numbers) < len(query):
        picked = torch.tensor(numbers, device=query.device)
        query, places = query[picked], places[picked]
    at = places.long()
    starts, ends = state.starts[at], state.ends[at]
    fresh = [choice.fresh[number] for number in numbers]
    scores = _scores(query, state, choice.ranking, at, scale, fresh)
    scores = scores.masked_fill(starts >= ends, -torch.inf)
    room = min(state.ranges.shape[2], scores.shape[2])
    order = scores.sort(dim=2, descending=True, stable=True).indices[:, :, :room]
    first = starts.gather(2, order)
    sizes = ends.gather(2, order) - first
    budgets = state.budgets[at].unsqueeze(2)
    before = sizes.cumsum(dim=2, dtype=torch.int32) - sizes
    taken = (budgets - before).clamp(min=0).minimum(sizes)
    if state.log_counts is not None:
        taken = taken.masked_fill(taken < sizes, 0)
    first = first + state.first_entries[at][:, None, None]
    ranges = state.ranges[at]
    ranges[:, :, :room] = torch.stack((first, first + taken), dim=3)
    state.ranges[at] = ranges
    state.num_ranges[at] = (taken > 0).sum(dim=2, dtype=torch.int32)
    state.entries_read[at] = taken.sum(dim=2, dtype=torch.int32)
    if state.log_counts is not None:
        log_counts = state.log_sizes[at]
        of_rank = log_counts.gather(2, order).masked_fill(taken > 0, NO_WEIGHT)
        state.log_counts[at] = log_counts.scatter(2, order, of_rank)


def _scores(
    query: torch.Tensor,
    state: GroupState,
    ranking: GroupRanking,
    at: torch.Tensor,
    scale: float,
    fresh: list[bool],
) -> torch.Tensor:
    """(rows, kv_heads, groups); averages are brought up to date."""
    heads, groups = state.starts.shape[1:]
    low = state.low[at]
    if state.high is not None:
        counts = torch.full((len(at),), groups, dtype=torch.int32, device=at.device)
        assert ranking.formula != "cosine"
        assert ranking.formula != "dot"
        return page_score(
            query,
            low.float(),
            state.high[at],
            counts,
            formula=ranking.formula,
            reduce=ranking.reduce,
            weight=ranking.weight,
        )
    assert ranking.formula in ("cosine", "dot")
    averages = None if state.averages is None else state.averages[at]
    if state.deviations is not None:
        scores = _upper_mass(query, low, state, ranking, at, scale)
        if averages is not None and state.averages is not None:
            past = torch.tensor([0.0 if is_fresh else ranking.decay for is_fresh in fresh])
            mixed = averages.lerp(scores, 1 - past.to(scores.device)[:, None, None])
            used = state.starts[at] < state.ends[at]
            state.averages[at] = mixed.where(used, averages)
        return scores
    counts = torch.full((len(at), heads), groups, dtype=torch.int32, device=at.device)
    scores = centroid_score(
        query,
        low,
        counts,
        metric=ranking.formula,
        reduce=ranking.reduce,
        scale=1.0 if ranking.formula == "cosine" else scale,
        bias=state.log_sizes[at] if ranking.by_mass else None,
        average=averages,
        decay=ranking.decay,
        fresh=torch.tensor(fresh, device=at.device) if averages is not None else None,
    )
    if averages is not None and state.averages is not None:
        used = state.starts[at] < state.ends[at]
        state.averages[at] = averages.where(used, state.averages[at])
    return scores


def _upper_mass(
    query: torch.Tensor,
    low: torch.Tensor,
    state: GroupState,
    ranking: GroupRanking,
    at: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """(rows, kv_heads, groups): with what deviations of keys add."""
    assert state.deviations is not None
    rows, heads, dim = query.shape
    grouped = query.float().view(rows, low.shape[1], heads // low.shape[1], dim)
    steps = spread_steps(grouped, state.deviations[at].unsqueeze(2), scale)
    found = grouped @ low.float().mT * scale + log_gains(steps) + ranking.reach * steps
    joined = found.amax(dim=2) if ranking.reduce == "max" else found.mean(dim=2)
    upper: torch.Tensor = joined + state.log_sizes[at]
    return upper
