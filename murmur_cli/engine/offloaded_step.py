"""One decode step in which the chosen speech is brought to the device first."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from murmur_cli.engine.regions import Range
from murmur_cli.engine.speech_index import HeadSelection, SpeechRows
from murmur_cli.engine.speech_offload import SpeechOffload
from murmur_cli.engine.speech_trace import by_entry
from murmur_kernels import MAX_RANGES, Selection, Summaries, choose_groups, decode_attention


class OffloadedStep:
    """The step of `RetrievalStep` where speech is offloaded.

    Args:
        offload: of the arena.
        rows: all rows, on the host; their speech starts where it would in a row that holds it.
        own_ranges: entries of the slot that each row reads in every layer, none of them speech.
        ranges: the same entries where they would lie beside the speech.
        served: numbers of the rows that the index serves; the others read all of their speech.
        device: of the arena.
        capacity: of a slot that would hold the speech, too.
    """

    def __init__(
        self,
        offload: SpeechOffload,
        rows: SpeechRows,
        own_ranges: Sequence[tuple[Range, ...]],
        ranges: Sequence[tuple[Range, ...]],
        served: Sequence[int],
        device: torch.device,
        capacity: int,
    ) -> None:
        self._offload = offload
        self._capacity = capacity
        self._rows = rows
        self._served = list(served)
        self._others = [number for number in range(len(rows.slots)) if number not in set(served)]
        self._chosen_for = offload.host_rows(rows.only(self._served)) if self._served else None
        self._device = device
        self._own = _shared(rows.slots, own_ranges, device)
        self._beside = _shared(rows.slots, ranges, device)
        self._read: list[torch.Tensor] = []

    def attend(
        self,
        layer: int,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        scale: float = 1.0,
        probe_heads: Sequence[int] = (),
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """As `engine.attention.attend`; probabilities are those of a row that holds its speech."""
        rows, offload = self._rows, self._offload
        entries, counts, summaries = self._choose(layer, query.to("cpu"), scale, keys.shape[1])
        offload.bring(layer, rows.slots, entries, counts)
        listed, numbers = offload.listed
        selection = Selection(
            slots=self._own.slots,
            active=self._own.active,
            ranges=self._own.ranges,
            num_ranges=self._own.num_ranges,
            indices=listed,
            num_indices=numbers,
            summaries=summaries,
            places=self._own.slots,
        )
        found = decode_attention(query, keys, values, selection, scale, probe_heads)
        if found.probabilities is None:
            return found.out, None
        group = query.shape[1] // keys.shape[1]
        heads = [head // group for head in probe_heads]
        return found.out, self._trace(layer, found.probabilities.cpu(), entries, counts, heads)

    @property
    def layers(self) -> int:
        """That chose so far."""
        return len(self._read)

    def speech_read(self) -> tuple[float | None, ...]:
        """Entries that each row read of its speech, mean over layers; None: all of it."""
        means = torch.stack(self._read).mean(dim=0).tolist() if self._read else []
        of_row = dict(zip(self._served, means, strict=True))
        return tuple(of_row.get(row) for row in range(len(self._rows.slots)))

    def _choose(
        self, layer: int, query: torch.Tensor, scale: float, kv_heads: int
    ) -> tuple[torch.Tensor, torch.Tensor, Summaries | None]:
        """Speech entries of all rows, their counts, and the summaries on the device."""
        rows, served = self._rows, self._chosen_for
        most = max([rows.lengths[number] for number in self._others], default=0)
        found, summaries, part = None, None, None
        if served is not None:
            own = query[self._served]
            chosen = self._offload.index.select(layer, served, own, scale)
            if chosen.choice is not None:
                choose_groups(own, chosen.choice, served.slot_index, scale)
            self._read.append(chosen.mean_read())
            found = _listed(chosen)
            most = max(most, found[0].shape[2])
            summaries = chosen.summaries
            part = served
        entries = torch.zeros(len(rows.slots), kv_heads, most, dtype=torch.long)
        counts = torch.zeros(len(rows.slots), kv_heads, dtype=torch.long)
        if found is not None:
            entries[self._served, :, : found[0].shape[2]] = found[0]
            counts[self._served] = found[1]
        for number in self._others:
            length = rows.lengths[number]
            entries[number, :, :length] = torch.arange(length)
            counts[number] = length
        others = [rows.slots[number] for number in self._others]
        sent = self._offload.summaries(layer, part or rows, summaries, others)
        return entries, counts, sent

    def _trace(
        self,
        layer: int,
        probabilities: torch.Tensor,
        entries: torch.Tensor,
        counts: torch.Tensor,
        heads: Sequence[int],
    ) -> torch.Tensor:
        """Probabilities (rows, probes, entries) in the order of time, speech among the rest."""
        rows, index = self._rows, self._offload.index
        start = torch.tensor(rows.starts)
        beside = self._beside
        virtual = Selection(
            slots=beside.slots.cpu(),
            active=beside.active.cpu(),
            ranges=beside.ranges.cpu(),
            num_ranges=beside.num_ranges.cpu(),
            indices=(entries + start[:, None, None]).to(torch.int32),
            num_indices=counts.to(torch.int32),
        )
        spans = None
        if self._served:
            served = rows.only(self._served)
            own = index.summary_ranges(layer, served)
            if own is not None:
                spans = own.new_zeros(len(rows.slots), *own.shape[1:])
                spans[self._served] = own
        seen = by_entry(probabilities, virtual, spans, heads, self._capacity)
        if self._served:
            seen[self._served] = index.in_time(layer, served, heads, seen[self._served])
        return seen.to(self._device)


def _shared(
    slots: Sequence[int], ranges: Sequence[tuple[Range, ...]], device: torch.device
) -> Selection:
    """What all KV heads read."""
    width = 2 * MAX_RANGES
    table = [
        [slot, len(spans), *(edge for span in spans for edge in span)]
        for slot, spans in zip(slots, ranges, strict=True)
    ]
    packed = torch.tensor(
        [line + [0] * (2 + width - len(line)) for line in table], dtype=torch.int32, device=device
    )
    return Selection(
        slots=packed[:, 0],
        active=torch.ones(len(slots), dtype=torch.bool, device=device),
        ranges=packed[:, 2:].view(len(slots), MAX_RANGES, 2),
        num_ranges=packed[:, 1],
    )


def _listed(chosen: HeadSelection) -> tuple[torch.Tensor, torch.Tensor]:
    """Chosen entries (rows, kv_heads, M) int64, in the order of their terms, and their counts."""

    def by_row(state: torch.Tensor) -> torch.Tensor:
        return state if chosen.places is None else state.index_select(0, chosen.places)

    if chosen.head_ranges is None or chosen.num_head_ranges is None:
        assert chosen.indices is not None
        assert chosen.num_indices is not None
        return by_row(chosen.indices).long(), by_row(chosen.num_indices).long()
    assert chosen.indices is None, "ranges or a list"
    start, end = by_row(chosen.head_ranges).long().unbind(dim=3)
    known = torch.arange(start.shape[2]) < by_row(chosen.num_head_ranges)[:, :, None]
    sizes = torch.where(known, end - start, 0)
    upto = sizes.cumsum(dim=2)
    total = upto[:, :, -1]
    term = torch.arange(int(total.max())).expand(*total.shape, -1).contiguous()
    number = torch.searchsorted(upto, term, right=True).clamp(max=sizes.shape[2] - 1)
    return (start - upto + sizes).gather(2, number) + term, total
