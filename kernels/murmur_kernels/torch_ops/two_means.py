"""`two_means` over all entries of all groups at once, one row of a matrix each."""

from __future__ import annotations

from dataclasses import dataclass

import torch


def two_means_torch(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    permutation: torch.Tensor,
    node_starts: torch.Tensor,
    node_ends: torch.Tensor,
    max_child: int,
    cosine: bool,
    iterations: int,
    seed: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`two_means` on checked arguments."""
    permutation = permutation.clone()
    left_sizes = node_ends - node_starts
    splits = left_sizes >= 2
    if not bool(splits.any()):
        return permutation, left_sizes
    row, head, _ = splits.nonzero(as_tuple=True)
    first, sizes = node_starts[splits].long(), left_sizes[splits].long()
    members = _members(sizes)
    heads, places = permutation.shape[1:]
    place = ((row * heads + head) * places + first)[members.group] + members.number
    entry = permutation.view(-1)[place].long() + starts.long()[row][members.group]
    x = _vectors(keys, slots.long()[row][members.group], head[members.group], entry, cosine)
    second = _assign(x, members, members.starts + _pick(seed, first, sizes), cosine, iterations)
    rights = _sums(second, members)
    one_sided = (rights == 0) | (rights == sizes)
    halve = one_sided | (torch.maximum(rights, sizes - rights) > max_child)
    second = torch.where(
        halve[members.group], members.number >= (sizes // 2)[members.group], second
    )
    lefts = sizes - _sums(second, members)
    # An entry's rank among those of its side is its new place there: the order is kept.
    right_rank = second.cumsum(dim=0) - second.long()
    right_rank = right_rank - right_rank[members.starts][members.group]
    moved = torch.where(second, lefts[members.group] + right_rank, members.number - right_rank)
    permutation.view(-1)[place - members.number + moved] = permutation.view(-1)[place]
    left_sizes[splits] = lefts.to(torch.int32)
    return permutation, left_sizes


@dataclass(frozen=True, slots=True)
class _Members:
    """All entries of all groups, group after group.

    Attributes:
        group, number: (entries,) group of each entry and its number there.
        starts: (groups,) first entry of each group.
    """

    group: torch.Tensor
    number: torch.Tensor
    starts: torch.Tensor


def _members(sizes: torch.Tensor) -> _Members:
    starts = sizes.cumsum(dim=0) - sizes
    group = torch.repeat_interleave(sizes)
    return _Members(group, torch.arange(len(group)) - starts[group], starts)


def _pick(seed: int, first: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """The number of each group's first centroid; 32-bit mixing that int64 holds."""
    bits = (seed + first * 2654435761 + sizes * 2246822519) & 0xFFFFFFFF
    bits = ((bits ^ (bits >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
    bits = ((bits ^ (bits >> 12)) * 0x297A2D39) & 0xFFFFFFFF
    return (bits ^ (bits >> 15)) % sizes


def _vectors(
    keys: torch.Tensor, slot: torch.Tensor, head: torch.Tensor, entry: torch.Tensor, cosine: bool
) -> torch.Tensor:
    if keys.is_contiguous():
        flat = (slot * keys.shape[1] + head) * keys.shape[2] + entry
        x = keys.view(-1, keys.shape[3]).index_select(0, flat).float()
    else:
        x = keys[slot, head, entry].float()
    return _unit_(x) if cosine else x


def _assign(
    x: torch.Tensor, members: _Members, picked: torch.Tensor, cosine: bool, iterations: int
) -> torch.Tensor:
    """(entries,) bool: which are nearer to their group's second centroid at last."""
    dots = _Dots(x, members.group)
    first = x[picked]
    nearness = dots(first)
    if not cosine:
        nearness = nearness - x.square().sum(dim=1) / 2
    second = x[_farthest(nearness, members)]
    first_side = 2 * members.group
    sums = torch.empty(2 * len(picked), x.shape[1])
    previous = None
    for iteration in range(iterations):
        nearer = dots(second - first)
        if not cosine:
            nearer -= ((second.square() - first.square()).sum(dim=1) / 2)[members.group]
        second_side = nearer > 0
        if iteration == iterations - 1 or (
            previous is not None and torch.equal(second_side, previous)
        ):
            break  # the same assignment gives the same centroids for ever
        previous = second_side
        side = first_side + second_side
        sums.zero_().index_add_(0, side, x)
        counts = torch.bincount(side, minlength=len(sums))[:, None]
        means = _unit_(sums) if cosine else sums / counts.clamp(min=1)
        first = torch.where(counts[0::2] > 0, means[0::2], first)
        second = torch.where(counts[1::2] > 0, means[1::2], second)
    return second_side


class _Dots:
    """Each entry times its group's vector, in memory that is used again and again."""

    def __init__(self, x: torch.Tensor, group: torch.Tensor) -> None:
        self._x, self._group = x, group
        self._products = torch.empty_like(x)
        self._ones = torch.ones(x.shape[1])

    def __call__(self, of_group: torch.Tensor) -> torch.Tensor:
        torch.index_select(of_group, 0, self._group, out=self._products)
        # A product with ones sums rows several times faster than sum(dim=1).
        return self._products.mul_(self._x) @ self._ones


def _farthest(nearness: torch.Tensor, members: _Members) -> torch.Tensor:
    """(groups,): the first entry of the least nearness in each group."""
    groups = len(members.starts)
    least = torch.full((groups,), torch.inf).scatter_reduce(0, members.group, nearness, "amin")
    entry = torch.arange(len(nearness))
    candidates = torch.where(nearness == least[members.group], entry, len(nearness))
    none = torch.full((groups,), len(nearness) - 1)
    return none.scatter_reduce(0, members.group, candidates, "amin")


def _sums(flags: torch.Tensor, members: _Members) -> torch.Tensor:
    """(groups,): how many entries of each group are flagged."""
    return torch.bincount(members.group[flags], minlength=len(members.starts))


def _unit_(vectors: torch.Tensor) -> torch.Tensor:
    """The vectors, scaled to length one in place; a zero vector stays one."""
    lengths: torch.Tensor = torch.linalg.vector_norm(vectors, dim=1, keepdim=True)
    return vectors.div_(lengths.masked_fill_(lengths == 0, 1.0))
