"""What every row of a step reads, as tensors on the device that reads it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_kernels.checks import ARENA_DTYPES, check_selection_tensor
from murmur_kernels.ranges import MAX_RANGES, TABLE_COLUMNS, StepRanges

MAX_HEAD_RANGES = 128
"""Ranges that one KV head of a row may have beside those that all its heads share."""


@dataclass(frozen=True, slots=True)
class Summaries:
    """Groups of entries of which only the mean is read, one term of the softmax each.

    A term scores scale * q . key + log_count and contributes its value: what its entries would,
    if all of them were equal to the mean.

    Attributes:
        keys, values: (rows, kv_heads, S, head_dim), the arena's dtype or float32.
        log_counts: (rows, kv_heads, S) float32, natural logarithm of the entries of a group.
        counts: (rows, kv_heads) int32, how many of the S are terms; the others are not used.
    """

    keys: torch.Tensor
    values: torch.Tensor
    log_counts: torch.Tensor
    counts: torch.Tensor

    def __post_init__(self) -> None:
        if self.keys.dim() != 4 or self.values.shape != self.keys.shape:
            raise ValueError(
                "want equal keys and values of summaries (rows, heads, S, dim); "
                f"got {tuple(self.keys.shape)}, {tuple(self.values.shape)}"
            )
        if self.keys.dtype not in ARENA_DTYPES or self.values.dtype != self.keys.dtype:
            raise ValueError(
                "want keys and values of summaries of one dtype, float32, float16 or bfloat16; "
                f"got {self.keys.dtype}, {self.values.dtype}"
            )
        if self.keys.stride(3) != 1 or self.values.stride(3) != 1:
            raise ValueError(
                "want keys and values of summaries with a contiguous last axis; "
                f"got strides {self.keys.stride()}, {self.values.stride()}"
            )
        if self.keys.device != self.values.device:
            raise ValueError(
                f"want summaries on one device; got {self.keys.device}, {self.values.device}"
            )
        shape, device = self.keys.shape[:3], self.keys.device
        check_selection_tensor("log_counts", self.log_counts, shape, torch.float32, device)
        check_selection_tensor("counts", self.counts, shape[:2], torch.int32, device)


@dataclass(frozen=True, slots=True)
class Selection:
    """Terms of each (row, KV head): ranges, then head_ranges, then indices, then summaries.

    Only shapes are checked, and once: what the tensors hold may change between steps, as a CUDA
    graph needs it, and nobody waits for the device to look at it. `check_contents` does.
    Numbers beyond a tensor's own count may be anything. An entry that is selected twice counts
    twice. Strides are free but for contiguous last axes, and pairs (start, end) that follow each
    other.

    Attributes:
        slots: (rows,) int32, arena slot of each row.
        active: (rows,) bool; a row that is not selects nothing.
        ranges: (rows, R, 2) int32, half-open, of all KV heads; R at most MAX_RANGES.
        num_ranges: (rows,) int32.
        head_ranges: (rows, kv_heads, L, 2) int32, half-open; L at most MAX_HEAD_RANGES.
        num_head_ranges: (rows, kv_heads) int32.
        indices: (rows, kv_heads, M) int32, single entries.
        num_indices: (rows, kv_heads) int32.
        summaries: terms that are no entries.
        max_terms: no (row, KV head) has more terms; None: those of a whole slot and all summaries.
            It sizes the grid, and the probabilities when they are wanted.
    """

    slots: torch.Tensor
    active: torch.Tensor
    ranges: torch.Tensor
    num_ranges: torch.Tensor
    head_ranges: torch.Tensor | None = None
    num_head_ranges: torch.Tensor | None = None
    indices: torch.Tensor | None = None
    num_indices: torch.Tensor | None = None
    summaries: Summaries | None = None
    max_terms: int | None = None

    @classmethod
    def from_step_ranges(cls, step: StepRanges, device: torch.device) -> Selection:
        """The same rows and ranges, in one copy to the device."""
        rows = len(step.slots)
        table = torch.empty(0, TABLE_COLUMNS, dtype=torch.int32)
        if rows:
            host = torch.frombuffer(step.table, dtype=torch.int64)
            table = host.view(rows, TABLE_COLUMNS).to(torch.int32)
        table = table.to(device)
        return cls(
            slots=table[:, 0],
            active=torch.ones(rows, dtype=torch.bool, device=device),
            ranges=table[:, 2:].view(rows, MAX_RANGES, 2),
            num_ranges=table[:, 1],
            max_terms=step.max_entries,
        )

    def __post_init__(self) -> None:
        rows, device = self.slots.shape[0] if self.slots.dim() else 0, self.slots.device
        check_selection_tensor("slots", self.slots, (rows,), torch.int32, device)
        check_selection_tensor("active", self.active, (rows,), torch.bool, device)
        check_selection_tensor("num_ranges", self.num_ranges, (rows,), torch.int32, device)
        _check_ranges("ranges", self.ranges, (rows,), MAX_RANGES, device)
        heads = self._heads()
        for name, items, counts in (
            ("head_ranges", self.head_ranges, self.num_head_ranges),
            ("indices", self.indices, self.num_indices),
        ):
            if (items is None) != (counts is None):
                raise ValueError(f"{name} and num_{name} go together; one of them is missing")
            if counts is not None:
                check_selection_tensor(f"num_{name}", counts, (rows, heads), torch.int32, device)
        if self.head_ranges is not None:
            _check_ranges("head_ranges", self.head_ranges, (rows, heads), MAX_HEAD_RANGES, device)
        if self.indices is not None:
            size = self.indices.shape[-1] if self.indices.dim() else 0
            check_selection_tensor("indices", self.indices, (rows, heads, size), torch.int32, device)
            if size > 1 and self.indices.stride(-1) != 1:
                raise ValueError(
                    "want indices with a contiguous last axis; "
                    f"got strides {self.indices.stride()}"
                )
        if self.summaries is not None:
            shape = (rows, heads)
            check_selection_tensor("counts", self.summaries.counts, shape, torch.int32, device)
        if self.max_terms is not None and self.max_terms < 0:
            raise ValueError(f"max_terms is {self.max_terms}, want at least 0")

    def _heads(self) -> int:
        """KV heads that the per-head tensors speak of; 0 without any."""
        counts = [self.num_head_ranges, self.num_indices]
        if self.summaries is not None:
            counts.append(self.summaries.counts)
        return next((c.shape[1] for c in counts if c is not None and c.dim() == 2), 0)

    def terms_bound(self, capacity: int) -> int:
        """Terms that no (row, KV head) exceeds, in an arena of `capacity` entries a slot."""
        if self.max_terms is not None:
            return self.max_terms
        return capacity + (0 if self.summaries is None else self.summaries.keys.shape[2])

    def check_fits(self, query: torch.Tensor, keys: torch.Tensor) -> None:
        """Raise ValueError unless shapes, dtypes and device are those of this query and arena."""
        if self.slots.shape[0] != query.shape[0]:
            raise ValueError(
                f"the selection is that of {self.slots.shape[0]} rows, "
                f"the query has {query.shape[0]}"
            )
        if self.slots.device != query.device:
            raise ValueError(
                f"want one device; got a selection on {self.slots.device}, "
                f"a query on {query.device}"
            )
        heads = self._heads()
        if heads not in (0, keys.shape[1]):
            raise ValueError(
                f"the selection is that of {heads} KV heads, the arena has {keys.shape[1]}"
            )
        if self.summaries is not None:
            dim, dtype = self.summaries.keys.shape[3], self.summaries.keys.dtype
            if dim != keys.shape[3] or dtype not in (torch.float32, keys.dtype):
                raise ValueError(
                    f"summaries of size {dim} and {dtype} do not fit "
                    f"an arena of size {keys.shape[3]} and {keys.dtype}"
                )

    def check_contents(self, num_slots: int, capacity: int) -> None:
        """Look at the numbers themselves; waits for the device, so for tests and for debugging.

        Raises:
            ValueError: a slot, range, entry or count of an active row that is out of bounds.
        """
        from murmur_kernels.selection_contents import check_contents

        check_contents(self, num_slots, capacity)


def _check_ranges(
    name: str,
    ranges: torch.Tensor,
    leading: tuple[int, ...],
    limit: int,
    device: torch.device,
) -> None:
    number = ranges.shape[-2] if ranges.dim() > 1 else 0
    check_selection_tensor(name, ranges, (*leading, number, 2), torch.int32, device)
    if number > limit:
        raise ValueError(f"{name} has room for {number} ranges, at most {limit} are allowed")
    strides = ranges.stride()[-2:]
    if strides[1] != 1 or (number > 1 and strides[0] != 2):
        raise ValueError(f"want {name} with contiguous last two axes; got strides {ranges.stride()}")
