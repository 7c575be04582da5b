"""Cases of decode attention over a `Selection`, and how far a result may be from the reference.

Whatever is not selected is NaN or nonsense, so that reading it shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from murmur_kernels import SecondOrder, Selection, Summaries
from murmur_kernels.reference.decode_attention import (
    ReferenceAttention,
    decode_attention_reference,
)

NONSENSE = 1 << 30
UNIT = 2.0**-24
"""Half a unit in the last place of float32, relative."""


@dataclass(frozen=True)
class Head:
    """What one KV head of a row selects beside the row's ranges."""

    ranges: Sequence[tuple[int, int]] = ()
    indices: Sequence[int] = ()
    summaries: int = 0


@dataclass(frozen=True)
class Row:
    """What one row selects; `heads` has one for each KV head, or none."""

    slot: int
    ranges: Sequence[tuple[int, int]] = ()
    heads: Sequence[Head] = ()
    active: bool = True


@dataclass
class Case:
    """Query, arena and selection on one device, with nonsense wherever nothing is selected."""

    query: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    selection: Selection
    scale: float
    wanted: ReferenceAttention = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = decode_attention_reference(
            self.query, self.keys, self.values, self.selection, self.scale
        )
        read = torch.zeros(self.keys.shape[:3], dtype=torch.bool, device=self.keys.device)
        for row, heads in enumerate(self.wanted.entries):
            for head, entries in enumerate(heads):
                if entries:
                    read[int(self.selection.slots[row]), head, entries] = True
        for cache in (self.keys, self.values):
            cache.masked_fill_(~read[..., None], math.nan)

    def largest_errors(self, *, weights: torch.dtype, exact: bool) -> tuple[torch.Tensor, ...]:
        """How far out, log-sum-exp and probabilities may be from the reference.

        With n terms, head size d, m = max_j scale * sum_c |q_c k_jc| + |log_count_j| and
        u = 2^-24: a score is a sum of d + 1 rounded products, off by at most (d + 4) u m. A
        weight is off by twice that (its own score and the top), and by the sum of n, relatively;
        the mean sums n more. So

            |out error| <= (2 (d + 4) u m + (3 n + 32) u + w) sum_j p_j |v_j| + o |out| + tiny

        where w and o are what rounding to the type of the weights (in tensor cores the arena's)
        and of the result costs: half its epsilon, or a whole one where it cuts (not `exact`).
        """
        wanted = self.wanted
        terms, dim = wanted.probabilities.shape[2], self.query.shape[2]
        score = (dim + 4) * UNIT * wanted.magnitude
        share = 2 * score + (3 * terms + 32) * UNIT
        weight_error = 0.0 if weights == torch.float32 else _rounding(weights, exact)
        largest = torch.nan_to_num(self.values.double()).abs().max()
        if self.selection.summaries is not None:
            means = torch.nan_to_num(self.selection.summaries.values.double())
            largest = torch.maximum(largest, means.abs().max()) if means.numel() else largest
        # Half types have a smallest step: of weights up to 1, and of the result.
        tiny = torch.finfo(self.query.dtype).smallest_normal * _rounding(self.query.dtype, False)
        if weights != torch.float32:
            step = torch.finfo(weights).smallest_normal * _rounding(weights, False)
            tiny = tiny + terms * step * largest
        out = (share[..., None] + weight_error) * wanted.absolute + tiny
        if self.query.dtype != torch.float32:
            out = out + _rounding(self.query.dtype, exact) * (wanted.out.abs() + out)
        log_sum = score + (terms + 32) * UNIT + 2 * UNIT * wanted.log_sum_exp.abs()
        probabilities = (share + log_sum)[..., None] * wanted.probabilities
        return out, log_sum, probabilities + torch.finfo(torch.float32).smallest_normal


def _rounding(dtype: torch.dtype, exact: bool) -> float:
    return torch.finfo(dtype).eps * (0.5 if exact else 1.0)


def make_case(
    rows: Sequence[Row],
    *,
    kv_heads: int = 2,
    ratio: int = 1,
    dim: int = 64,
    capacity: int = 40,
    num_slots: int = 4,
    dtype: torch.dtype = torch.float32,
    query_dtype: torch.dtype = torch.float32,
    scale: float | None = None,
    max_terms: int | None = None,
    device: torch.device | None = None,
    seed: int = 0,
    second_order: bool = False,
) -> Case:
    """Standard normal query, keys, values and means; log counts between 0 and 3.

    With `second_order` deviations between 0 and 3, so that some gains are cut, and tilts.
    """
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(len(rows), kv_heads * ratio, dim, generator=generator).to(query_dtype)
    keys, values = torch.randn(2, num_slots, kv_heads, capacity, dim, generator=generator).to(dtype)
    return Case(
        query.to(device),
        keys.to(device),
        values.to(device),
        make_selection(rows, kv_heads, dim, dtype, max_terms, device, generator, second_order),
        dim**-0.5 if scale is None else scale,
    )


def make_selection(
    rows: Sequence[Row],
    kv_heads: int,
    dim: int,
    dtype: torch.dtype,
    max_terms: int | None,
    device: torch.device | None,
    generator: torch.Generator,
    second_order: bool = False,
) -> Selection:
    """The tensors of what rows select; kinds that nobody selects are absent."""
    heads = [row.heads or [Head()] * kv_heads for row in rows]

    def counts(of: str) -> torch.Tensor:
        sizes = [[_size(getattr(head, of)) for head in row] for row in heads]
        return torch.tensor(sizes, dtype=torch.int32).view(len(rows), kv_heads)

    def pairs(lists: Sequence[Sequence[tuple[int, int]]], room: int) -> torch.Tensor:
        table = torch.full((len(lists), room, 2), NONSENSE, dtype=torch.int32)
        for number, spans in enumerate(lists):
            for place, span in enumerate(spans):
                table[number, place] = torch.tensor(span)
        return table

    kinds: dict[str, torch.Tensor] = {}
    if (sizes := counts("ranges")).any():
        room = int(sizes.max()) + 1 if sizes.max() < 128 else 128
        spans = pairs([head.ranges for row in heads for head in row], room)
        kinds["head_ranges"] = spans.view(len(rows), kv_heads, room, 2)
        kinds["num_head_ranges"] = sizes
    if (sizes := counts("indices")).any():
        indices = torch.full((len(rows), kv_heads, int(sizes.max()) + 3), NONSENSE).int()
        for row, row_heads in enumerate(heads):
            for number, head in enumerate(row_heads):
                indices[row, number, : len(head.indices)] = torch.tensor(list(head.indices))
        kinds |= {"indices": indices, "num_indices": sizes}
    summaries = None
    if (sizes := counts("summaries")).any():
        room = int(sizes.max()) + 2
        free = (torch.arange(room) >= sizes[..., None])[..., None]
        means = torch.randn(2, len(rows), kv_heads, room, dim, generator=generator).to(dtype)
        mean_keys, mean_values = means.masked_fill(free, math.nan).to(device)
        log_counts = 3 * torch.rand(len(rows), kv_heads, room, generator=generator)
        log_counts = log_counts.masked_fill(free[..., 0], math.nan).to(device)
        spread = None
        if second_order:
            deviations = 3 * torch.rand(len(rows), kv_heads, room, generator=generator)
            tilts = torch.randn(len(rows), kv_heads, dim, dim, generator=generator)
            spread = SecondOrder(
                deviations.masked_fill(free[..., 0], math.nan).to(device),
                tilts.masked_fill((sizes == 0)[..., None, None], math.nan).to(dtype).to(device),
            )
        summaries = Summaries(mean_keys, mean_values, log_counts, sizes.to(device), spread)
    ranges = pairs([row.ranges for row in rows], 6)
    num_ranges = torch.tensor([len(row.ranges) for row in rows], dtype=torch.int32)
    return Selection(
        slots=torch.tensor([row.slot for row in rows], dtype=torch.int32).to(device),
        active=torch.tensor([row.active for row in rows], dtype=torch.bool).to(device),
        ranges=ranges.to(device),
        num_ranges=num_ranges.to(device),
        summaries=summaries,
        max_terms=max_terms,
        **{name: tensor.to(device) for name, tensor in kinds.items()},
    )


def _size(items: Sequence[object] | int) -> int:
    return items if isinstance(items, int) else len(items)
