"""One decode step in which an index chooses what some rows read of the speech."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from murmur_cli.engine.regions import Range
from murmur_cli.engine.speech_index import HeadSelection, SpeechIndex, SpeechRows
from murmur_cli.engine.speech_trace import by_entry
from murmur_kernels import (
    MAX_RANGES,
    GroupChoice,
    Selection,
    decode_attention,
    decode_attention_path,
)

NOWHERE = -1
"""Place of a row that no index serves in what an index lists."""


class RetrievalStep:
    """Ranges that all layers share, and the layers' own choices beside them.

    Args:
        slots: of all rows.
        ranges: entries of the slot that each row reads in every layer and head.
        served: numbers of the rows that an index serves.
        rows: these rows.
    """

    def __init__(
        self,
        slots: Sequence[int],
        ranges: Sequence[tuple[Range, ...]],
        served: Sequence[int],
        rows: SpeechRows,
    ) -> None:
        self._count = len(slots)
        self._rows = rows
        self._served = None if len(served) == len(slots) else list(served)
        device = rows.device
        table = [
            [slot, len(spans), *(edge for span in spans for edge in span)]
            for slot, spans in zip(slots, ranges, strict=True)
        ]
        width = 2 + 2 * MAX_RANGES
        packed = torch.tensor(
            [line + [0] * (width - len(line)) for line in table], dtype=torch.int32, device=device
        )
        self._shared = Selection(
            slots=packed[:, 0],
            active=torch.ones(len(slots), dtype=torch.bool, device=device),
            ranges=packed[:, 2:].view(len(slots), MAX_RANGES, 2),
            num_ranges=packed[:, 1],
        )
        self._places = rows.slot_index
        if self._served is not None:
            self._places = torch.full((len(slots),), NOWHERE, dtype=torch.int32, device=device)
            self._places[self._served] = rows.slot_index
        self._slots = tuple(slots)
        self._ranges = tuple(ranges)
        self._chosen: list[HeadSelection] = []
        self._selections: dict[tuple[int, int], Selection] = {}

    def follow(self, rows: SpeechRows, ranges: Sequence[tuple[Range, ...]]) -> bool:
        """Become the next step, if all rows are served, are the same and read the same ranges."""
        alike = self._served is None and self._slots == rows.slots
        if not alike or self._ranges != tuple(ranges):
            return False
        self._rows, self._chosen = rows, []
        return True

    def attend(
        self,
        index: SpeechIndex,
        layer: int,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        scale: float = 1.0,
        probe_heads: Sequence[int] = (),
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """As `engine.attention.attend`, over what the index chooses.

        Probabilities are those of the entries in the order of time.
        """
        rows = self._rows
        own = query if self._served is None else query[self._served]
        chosen = index.select(layer, rows, own, scale)
        self._chosen.append(chosen)
        choice = chosen.choice
        if self._served is not None:
            choice = None if choice is None else self._among_all(choice)
            if chosen.places is None:
                chosen = _among(chosen, self._served, self._count)
        selection = self._selection(index, layer, chosen)
        trace = chosen.trace if probe_heads else None
        if decode_attention_path(keys.device, keys.dtype, keys.shape[3]) != "compiled":
            trace = None
        found = decode_attention(
            query,
            keys,
            values,
            selection,
            scale,
            probe_heads,
            log_sum_exp=index.needs_log_sum_exp,
            choice=choice,
            trace=trace,
        )
        if found.log_sum_exp is not None:
            sums = found.log_sum_exp
            sums = sums if self._served is None else sums[self._served]
            index.observe(layer, rows, own, sums, scale)
        if found.probabilities is None:
            return found.out, None
        if trace is not None:
            return found.out, found.probabilities
        group = query.shape[1] // keys.shape[1]
        heads = [head // group for head in probe_heads]
        spans = index.summary_ranges(layer, rows)
        if spans is not None and self._served is not None:
            spans = _spread(spans, self._served, self._count)
        seen = by_entry(found.probabilities, selection.by_row(), spans, heads, keys.shape[2])
        if self._served is None:
            return found.out, index.in_time(layer, rows, heads, seen)
        seen[self._served] = index.in_time(layer, rows, heads, seen[self._served])
        return found.out, seen

    def speech_read(self) -> tuple[float | None, ...]:
        """Entries that each row read of its speech, mean over layers; None: not by an index."""
        if not self._chosen:
            return (None,) * self._count
        read = torch.stack([chosen.mean_read() for chosen in self._chosen])
        means = read.mean(dim=0).tolist()
        if self._served is None:
            return tuple(means)
        of_row = dict(zip(self._served, means, strict=True))
        return tuple(of_row.get(row) for row in range(self._count))

    def _selection(self, index: SpeechIndex, layer: int, chosen: HeadSelection) -> Selection:
        """What is chosen beside the shared ranges; of a state it is the same in every step."""
        key = (id(index), layer)
        if chosen.places is not None and key in self._selections:
            return self._selections[key]
        selection = replace(
            self._shared,
            head_ranges=chosen.head_ranges,
            num_head_ranges=chosen.num_head_ranges,
            indices=chosen.indices,
            num_indices=chosen.num_indices,
            summaries=chosen.summaries,
            places=None if chosen.places is None else self._places,
        )
        if chosen.places is not None:
            self._selections[key] = selection
        return selection

    def _among_all(self, choice: GroupChoice) -> GroupChoice:
        """The same among all rows, of which the others choose nothing."""
        assert self._served is not None
        due, fresh = [False] * self._count, [False] * self._count
        for row, is_due, is_fresh in zip(self._served, choice.due, choice.fresh, strict=True):
            due[row], fresh[row] = is_due, is_fresh
        return replace(choice, due=tuple(due), fresh=tuple(fresh))


def _among(chosen: HeadSelection, numbers: list[int], count: int) -> HeadSelection:
    """The same among `count` rows, of which the others choose nothing."""

    def spread(part: torch.Tensor) -> torch.Tensor:
        return _spread(part, numbers, count)

    def spread_if(part: torch.Tensor | None) -> torch.Tensor | None:
        return None if part is None else spread(part)

    assert chosen.summaries is None, "summaries lie in a state"
    return HeadSelection(
        entries_read=spread(chosen.entries_read),
        head_ranges=spread_if(chosen.head_ranges),
        num_head_ranges=spread_if(chosen.num_head_ranges),
        indices=spread_if(chosen.indices),
        num_indices=spread_if(chosen.num_indices),
    )


def _spread(part: torch.Tensor, numbers: list[int], count: int) -> torch.Tensor:
    """Rows of a part as the rows `numbers` of `count`; the others are zero."""
    whole = part.new_zeros(count, *part.shape[1:])
    whole[numbers] = part
    return whole
