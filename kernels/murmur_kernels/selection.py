"""What every row of a step reads, as tensors on the device that reads it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch

from murmur_kernels.ranges import MAX_RANGES, TABLE_COLUMNS, StepRanges
from murmur_kernels.tensor_checks import BOOL, FLOAT32, FLOATS, INT32, check_tensor

MAX_HEAD_RANGES = 128
"""Ranges that one KV head of a row may have beside those that all its heads share."""


MOST_GAIN = 3.0
"""Natural logarithm of the factor by which spread keys raise a summary's weight at most. Beyond
it few entries carry a group, of which a variance knows nothing."""


@dataclass(frozen=True, slots=True)
class SecondOrder:
    """How the entries of groups lie around their means, of all groups of a (row, KV head).

    With t = scale |q| deviation, a summary's score grows by min(t^2 / 2, MOST_GAIN): the mean of
    exp(scale q . k) over keys k around a mean, were they normal and alike in all directions. And
    where summaries hold the share p of the softmax, p scale q . tilts is added to the result: in
    a group values differ with their keys, so that its mean leans to what the query wants.

    Attributes:
        deviations: (rows, kv_heads, S) float32, root of the mean square of an element of the
            keys of a group about their mean.
        tilts: (rows, kv_heads, head_dim, head_dim), the dtype of the means: mean over all entries
            of the product of element i of the key and j of the value, about the means of their
            group, at [..., i, j].
    """

    deviations: torch.Tensor
    tilts: torch.Tensor


@dataclass(frozen=True, slots=True)
class Summaries:
    """Groups of entries of which only the mean is read, one term of the softmax each.

    A term scores scale * q . key + log_count and contributes its value: what its entries would,
    if all of them were equal to the mean. With `second_order` it stands for entries that differ.

    Attributes:
        keys, values: (rows, kv_heads, S, head_dim), the arena's dtype or float32.
        log_counts: (rows, kv_heads, S) float32, natural logarithm of the entries of a group.
        counts: (rows, kv_heads) int32, how many of the S are terms; the others are not used.
        second_order: how the entries of the groups lie around their means.
    """

    keys: torch.Tensor
    values: torch.Tensor
    log_counts: torch.Tensor
    counts: torch.Tensor
    second_order: SecondOrder | None = None

    def __post_init__(self) -> None:
        shape, device = self.keys.shape, self.keys.device
        check_tensor("mean keys", self.keys, (None, None, None, None), FLOATS, device)
        check_tensor("mean values", self.values, shape, (self.keys.dtype,), device)
        check_tensor("log_counts", self.log_counts, shape[:3], FLOAT32, device)
        check_tensor("counts", self.counts, shape[:2], INT32, device)
        for name, means in (("keys", self.keys), ("values", self.values)):
            _check_contiguous(f"mean {name}", means, (1,))
        if self.second_order is not None:
            tilts, dim = self.second_order.tilts, shape[3]
            check_tensor("deviations", self.second_order.deviations, shape[:3], FLOAT32, device)
            check_tensor("tilts", tilts, (*shape[:2], dim, dim), (self.keys.dtype,), device)
            _check_contiguous("tilts", tilts, (dim, 1))


@dataclass(frozen=True, slots=True)
class Selection:
    """Terms of each (row, KV head): ranges, then head_ranges, then indices, then summaries.

    What is listed per KV head may be a state of slots, of which `places` says where each row lies:
    then nothing is copied out of it.

    Only shapes are checked, and once: what the tensors hold may change between steps, as a CUDA
    graph needs it, and nobody waits for the device to look at it. `check_contents` does.
    Counts must not exceed the room there is; numbers beyond a count may be anything. An entry that
    is selected twice counts twice. Strides are free but for contiguous last axes, and pairs
    (start, end) that follow each other.

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
        places: (rows,) int32, where a row lies on the first axis of all that is listed per KV
            head; outside of it, such as -1: nowhere, and the row has none of these terms. None:
            row r lies at r.
        max_terms: no (row, KV head) has more terms; None: those of a whole slot and all summaries.
            It sizes the grid, and the probabilities when they are wanted.
        addresses: where the tensors lie, kept by the compiled kernel from its first call on.
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
    places: torch.Tensor | None = None
    max_terms: int | None = None
    addresses: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def from_step_ranges(cls, step: StepRanges, device: torch.device) -> Selection:
        """The same rows and ranges, in one copy to the device."""
        rows = len(step.slots)
        table = torch.empty(0, TABLE_COLUMNS, dtype=torch.int32)
        if rows:
            table = torch.frombuffer(step.table, dtype=torch.int32).view(rows, TABLE_COLUMNS)
        table = table.to(device, copy=True)
        return cls(
            slots=table[:, 0],
            active=torch.ones(rows, dtype=torch.bool, device=device),
            ranges=table[:, 2:].view(rows, MAX_RANGES, 2),
            num_ranges=table[:, 1],
            max_terms=step.max_entries,
        )

    def __post_init__(self) -> None:
        device = self.slots.device
        check_tensor("slots", self.slots, (None,), INT32, device)
        rows, heads = self.slots.shape[0], self._heads()
        check_tensor("active", self.active, (rows,), BOOL, device)
        check_tensor("num_ranges", self.num_ranges, (rows,), INT32, device)
        _check_ranges("ranges", self.ranges, (rows,), MAX_RANGES, device)
        if self.places is not None:
            check_tensor("places", self.places, (rows,), INT32, device)
            rows = self.num_places
        for name, items, counts in (
            ("head_ranges", self.head_ranges, self.num_head_ranges),
            ("indices", self.indices, self.num_indices),
        ):
            if (items is None) != (counts is None):
                raise ValueError(f"{name} and num_{name} go together; one of them is missing")
            if counts is not None:
                check_tensor(f"num_{name}", counts, (rows, heads), INT32, device)
        if self.head_ranges is not None:
            _check_ranges("head_ranges", self.head_ranges, (rows, heads), MAX_HEAD_RANGES, device)
        if self.indices is not None:
            check_tensor("indices", self.indices, (rows, heads, None), INT32, device)
            _check_contiguous("indices", self.indices, (1,))
        if self.summaries is not None:
            check_tensor("counts", self.summaries.counts, (rows, heads), INT32, device)
        if self.max_terms is not None and self.max_terms < 0:
            raise ValueError(f"want max_terms of at least 0, got {self.max_terms}")

    def _head_counts(self) -> torch.Tensor | None:
        """One of the counts per KV head, if there is one."""
        counts = [self.num_head_ranges, self.num_indices]
        if self.summaries is not None:
            counts.append(self.summaries.counts)
        return next((c for c in counts if c is not None and c.dim() == 2), None)

    def _heads(self) -> int:
        """KV heads that the per-head tensors speak of; 0 without any."""
        counts = self._head_counts()
        return 0 if counts is None else counts.shape[1]

    @property
    def num_places(self) -> int:
        """Length of the first axis of what is listed per KV head."""
        counts = None if self.places is None else self._head_counts()
        return self.slots.shape[0] if counts is None else counts.shape[0]

    def by_row(self) -> Selection:
        """The same with row r at r: what is listed per KV head is copied, one part for each row."""
        if self.places is None:
            return self
        exists = (self.places >= 0) & (self.places < self.num_places)
        at = self.places.long().where(exists, 0)

        def part(state: torch.Tensor | None) -> torch.Tensor | None:
            return None if state is None else state.index_select(0, at)

        def number(state: torch.Tensor | None) -> torch.Tensor | None:
            return None if state is None else state.index_select(0, at) * exists[:, None]

        summaries = self.summaries
        if summaries is not None:
            spread = summaries.second_order
            if spread is not None:
                spread = SecondOrder(
                    spread.deviations.index_select(0, at), spread.tilts.index_select(0, at)
                )
            summaries = Summaries(
                summaries.keys.index_select(0, at),
                summaries.values.index_select(0, at),
                summaries.log_counts.index_select(0, at),
                summaries.counts.index_select(0, at) * exists[:, None],
                spread,
            )
        return replace(
            self,
            head_ranges=part(self.head_ranges),
            num_head_ranges=number(self.num_head_ranges),
            indices=part(self.indices),
            num_indices=number(self.num_indices),
            summaries=summaries,
            places=None,
        )

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

        check_contents(self.by_row(), num_slots, capacity)


def _check_ranges(
    name: str,
    ranges: torch.Tensor,
    leading: tuple[int, ...],
    limit: int,
    device: torch.device,
) -> None:
    check_tensor(name, ranges, (*leading, None, 2), INT32, device)
    if ranges.shape[-2] > limit:
        raise ValueError(
            f"{name} has room for {ranges.shape[-2]} ranges, at most {limit} are allowed"
        )
    _check_contiguous(name, ranges, (2, 1))


def _check_contiguous(name: str, tensor: torch.Tensor, wanted: tuple[int, ...]) -> None:
    """Raise ValueError unless the strides of the last axes are these, where they matter."""
    sizes, strides = tensor.shape[-len(wanted) :], tensor.stride()[-len(wanted) :]
    if any(
        size > 1 and stride != want
        for size, stride, want in zip(sizes, strides, wanted, strict=True)
    ):
        raise ValueError(
            f"want {name} with contiguous last axes {tuple(sizes)}; got strides {tensor.stride()}"
        )
