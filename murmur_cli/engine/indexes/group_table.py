"""The groups of all slots of an arena, and what is read of them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_cli.engine.arena import KvArena
from murmur_kernels import NO_WEIGHT, SecondOrder


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Groups of all (layer, slot, KV head), those with entries first; padding has none.

    Attributes:
        starts, ends: (layers, slots, kv_heads, groups) int32, half-open, relative to the start
            of the speech.
        log_sizes: (layers, slots, kv_heads, groups) float32.
        counts: (layers, slots, kv_heads) int32, groups with entries.
        keys, values: (layers, slots, kv_heads, groups, head_dim) means, of the arena's dtype.
            values: only with a remainder. keys: only with a remainder, or where they rank.
        second_order: of all layers, (layers, slots, kv_heads, …), if summaries are.
    """

    starts: torch.Tensor
    ends: torch.Tensor
    log_sizes: torch.Tensor
    counts: torch.Tensor
    keys: torch.Tensor | None
    values: torch.Tensor | None
    second_order: SecondOrder | None = None

    @classmethod
    def empty(
        cls,
        arena: KvArena,
        groups: int,
        *,
        with_keys: bool,
        with_values: bool,
        second_order: bool = False,
    ) -> GroupTable:
        """A table without entries."""
        shape = arena.shape
        leading = (shape.layers, shape.slots, shape.kv_heads, groups)
        means = (*leading, shape.head_dim)

        def no_means(wanted: bool) -> torch.Tensor | None:
            if not wanted:
                return None
            return torch.zeros(means, dtype=shape.dtype, device=shape.device)

        spread = None
        if second_order:
            tilts = (*leading[:3], shape.head_dim, shape.head_dim)
            spread = SecondOrder(
                torch.zeros(leading, device=shape.device),
                torch.zeros(tilts, dtype=shape.dtype, device=shape.device),
            )
        starts = torch.zeros(leading, dtype=torch.int32, device=shape.device)
        return cls(
            starts=starts,
            ends=torch.zeros_like(starts),
            log_sizes=torch.full(leading, NO_WEIGHT, device=shape.device),
            counts=torch.zeros(leading[:3], dtype=torch.int32, device=shape.device),
            keys=no_means(with_keys),
            values=no_means(with_values),
            second_order=spread,
        )


@dataclass(frozen=True, slots=True)
class Chosen:
    """What every (layer, slot, KV head) reads, until it is chosen anew.

    Attributes:
        ranges: (layers, slots, kv_heads, R, 2) int32, entries of the slot.
        num_ranges, entries_read: (layers, slots, kv_heads) int32.
        log_counts: (layers, slots, kv_heads, groups) float32 of the summaries, if there are any.
        budgets: (layers, slots, kv_heads) int32, entries to read.
        first_entries: (slots,) int32, where the speech starts.
    """

    ranges: torch.Tensor
    num_ranges: torch.Tensor
    entries_read: torch.Tensor
    log_counts: torch.Tensor | None
    budgets: torch.Tensor
    first_entries: torch.Tensor
