"""Groups of entries of which the best are read: what is known of them, and how they are ranked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import torch

from murmur_kernels.selection import MAX_HEAD_RANGES
from murmur_kernels.tensor_checks import FLOAT32, FLOATS, INT32, check_choice, check_tensor

GroupFormula = Literal["cosine", "dot", "minmax", "deviation", "norm", "second_order"]

CENTROID_FORMULAS = ("cosine", "dot")
PAGE_FORMULAS = ("minmax", "deviation", "norm", "second_order")

GROUPS_UNIT = 8
"""Room for groups is a multiple of it."""

NO_WEIGHT = -1e30
"""Logarithm of the entries of a summary that stands for none; finite, as -inf - -inf is not."""


@dataclass(frozen=True, slots=True)
class GroupRanking:
    """How groups score; the formulas are those of `centroid_score` and `page_score`.

    Attributes:
        formula: 'cosine' and 'dot' are of centroids, the others of pages.
        reduce: over the query heads of a KV head.
        by_mass: 'dot' adds the logarithm of a group's size, so that its share of the softmax ranks;
            where a state has deviations also what `SecondOrder` says that spread keys gain.
        reach: where a state has deviations, so many of scale |q| deviation are added: a group may
            hold an entry that its mean does not show.
        weight: of the second term of a page's formula.
        decay: weight of the past in running averages.
    """

    formula: GroupFormula
    reduce: Literal["max", "mean"]
    by_mass: bool = False
    reach: float = 0.0
    weight: float = 1.0
    decay: float = 0.5

    def __post_init__(self) -> None:
        check_choice("formula", self.formula, (*CENTROID_FORMULAS, *PAGE_FORMULAS))
        check_choice("reduce", self.reduce, ("max", "mean"))
        if self.by_mass and self.formula != "dot":
            raise ValueError(f"by_mass adds to 'dot', not to '{self.formula}'")
        if self.reach and not self.by_mass:
            raise ValueError("reach adds to a mass; give by_mass too")


@dataclass(frozen=True, slots=True)
class GroupState:
    """Groups of all slots of one layer, and what is read of them until it is chosen anew.

    A group of no entries is padding. Last axes are contiguous.

    Attributes:
        starts, ends: (slots, kv_heads, groups) int32, half-open places of the speech.
        log_sizes: (slots, kv_heads, groups) float32, natural logarithms of the sizes; NO_WEIGHT
            for padding.
        low: (slots, kv_heads, groups, head_dim), any float dtype: centroids, or what `page_stats`
            calls low.
        high: the same, float32, for formulas of pages.
        budgets: (slots, kv_heads) int32, entries to read.
        first_entries: (slots,) int32, where the speech starts in the slot.
        averages: (slots, kv_heads, groups) float32 running averages of the scores. None: none.
        ranges: (slots, kv_heads, R, 2) int32, entries of the slot that are read, R at most
            MAX_HEAD_RANGES; written.
        num_ranges: (slots, kv_heads) int32, written.
        entries_read: (slots, kv_heads) int32, written.
        log_counts: (slots, kv_heads, groups) float32, weights of the summaries of what is not
            read; written. None: there are no summaries.
        deviations: (slots, kv_heads, groups) float32, of keys from their group's mean, as
            `SecondOrder` has them, for ranks by mass. None: keys count as equal.
        addresses: where the tensors lie, kept by the compiled code from its first call on.
    """

    starts: torch.Tensor
    ends: torch.Tensor
    log_sizes: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor | None
    budgets: torch.Tensor
    first_entries: torch.Tensor
    averages: torch.Tensor | None
    ranges: torch.Tensor
    num_ranges: torch.Tensor
    entries_read: torch.Tensor
    log_counts: torch.Tensor | None
    deviations: torch.Tensor | None = None
    addresses: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        device = self.starts.device
        check_tensor("starts", self.starts, (None, None, None), INT32, device)
        slots, heads, groups = self.starts.shape
        if groups % GROUPS_UNIT:
            raise ValueError(f"want room for a multiple of {GROUPS_UNIT} groups, got {groups}")
        check_tensor("ends", self.ends, (slots, heads, groups), INT32, device)
        check_tensor("low", self.low, (slots, heads, groups, None), FLOATS, device)
        if self.high is not None:
            check_tensor("high", self.high, self.low.shape, FLOAT32, device)
        for name, by_group in (
            ("log_sizes", self.log_sizes),
            ("averages", self.averages),
            ("log_counts", self.log_counts),
            ("deviations", self.deviations),
        ):
            if by_group is not None:
                check_tensor(name, by_group, (slots, heads, groups), FLOAT32, device)
        for name, by_head in (
            ("budgets", self.budgets),
            ("num_ranges", self.num_ranges),
            ("entries_read", self.entries_read),
        ):
            check_tensor(name, by_head, (slots, heads), INT32, device)
        check_tensor("first_entries", self.first_entries, (slots,), INT32, device)
        check_tensor("ranges", self.ranges, (slots, heads, None, 2), INT32, device)
        if self.ranges.shape[2] > MAX_HEAD_RANGES:
            raise ValueError(
                f"ranges has room for {self.ranges.shape[2]}, at most {MAX_HEAD_RANGES} are allowed"
            )
        parts = (self.starts, self.ends, self.log_sizes, self.low, self.high, self.averages)
        for part in (*parts, self.ranges, self.log_counts, self.deviations):
            if part is not None and part.stride(-1) != 1:
                raise ValueError(f"want contiguous last axes, got strides {part.stride()}")
        if self.ranges.stride(2) != 2:
            raise ValueError(f"want pairs that follow each other, got {self.ranges.stride()}")


@dataclass(frozen=True, slots=True)
class GroupChoice:
    """A choice that is made by a step's queries, before what is chosen is read.

    Attributes:
        state: of the layer.
        ranking: of its groups.
        due: of each row of the query, whether it chooses; else it reads what it chose before.
        fresh: of each row, whether its running averages have no past.
    """

    state: GroupState
    ranking: GroupRanking
    due: tuple[bool, ...]
    fresh: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class ChoiceKind:
    """What the machine code of a choice is made for.

    Attributes:
        head_dim, dtype: of `low`.
        formula, reduce, by_mass: of the ranking.
        averaged, summaries: whether there are running averages, and weights of summaries.
        spread: whether deviations of keys count.
    """

    head_dim: int
    dtype: torch.dtype
    formula: GroupFormula
    reduce: Literal["max", "mean"]
    by_mass: bool
    averaged: bool
    summaries: bool
    spread: bool
