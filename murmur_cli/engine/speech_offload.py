"""`--kv-offload`: speech in host memory, on the device only what a step reads.

The keys and values of the speech, the index over them and all nodes that are not read lie in host
memory, pinned where the device is a CUDA device. The device has, for each layer, slot and KV head,
room for as many entries as the policy may read, the summaries of the active groups, and a map of
slots: at which place which entry lies. A step sends its queries to the host, the index chooses
there, and only chosen entries that are not on the device yet are copied to it; an entry stays
until its place is needed.

C³'s authors rank on the device; here the host ranks, so that the device need not hold what is
ranked by, and policies of every kind can be offloaded alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from murmur_cli.engine.arena import ArenaShape, KvArena
from murmur_cli.engine.indexes.groups import GroupIndex
from murmur_cli.engine.indexes.registry import index_bytes, speech_index
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.speech_index import SpeechRows
from murmur_kernels import SecondOrder, Summaries

HOST = torch.device("cpu")
NOTHING = -1
"""At a place that holds no entry."""


@dataclass(frozen=True, slots=True)
class OffloadBytes:
    """What the speech of an arena takes on the device and on the host."""

    device: int
    host: int

    def __add__(self, other: OffloadBytes) -> OffloadBytes:
        return OffloadBytes(self.device + other.device, self.host + other.host)


@dataclass(frozen=True, slots=True)
class Traffic:
    """KV entries, each of one layer and head: read by steps, and copied to the device for it."""

    read: int = 0
    fetched: int = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(self.read + other.read, self.fetched + other.fetched)


class SpeechOffload:
    """The speech of an arena's slots; the arena has the room for what is chosen.

    Args:
        arena: on the device; entries [first_place, first_place + rule.most_read(places)) of each
            slot are for chosen ones.
        rule: of the index.
        places: most speech entries of a row.
        first_place: entries before the chosen ones.

    Attributes:
        index: over the host's entries, where the speech of every row starts at 0.
        traffic: so far.
    """

    def __init__(
        self, arena: KvArena, rule: RetrievalRule, places: int, first_place: int = 0
    ) -> None:
        shape = arena.shape
        self._arena = arena
        self._rule = rule
        self._places = places
        self._first_place = first_place
        self._room = rule.most_read(places)
        on_host = HOST if shape.device.type != "meta" else shape.device
        self._host = KvArena(
            replace(shape, capacity=places, device=on_host), pinned=shape.device.type == "cuda"
        )
        self.index = speech_index(rule, self._host, places)
        self.traffic = Traffic()
        leading = (shape.slots, shape.kv_heads)
        self._held = torch.full(
            (shape.layers, *leading, self._room), NOTHING, dtype=torch.int32, device=on_host
        )
        self._listed = torch.zeros(*leading, self._room, dtype=torch.int32, device=shape.device)
        self._numbers = torch.zeros(leading, dtype=torch.int32, device=shape.device)
        staged = (1, shape.kv_heads, places, shape.head_dim)
        self._staged_keys = torch.empty(staged, dtype=shape.dtype, device=shape.device)
        self._staged_values = torch.empty(staged, dtype=shape.dtype, device=shape.device)
        self._mean_keys: torch.Tensor | None = None
        self._mean_values: torch.Tensor | None = None
        self._spread: SecondOrder | None = None
        if isinstance(self.index, GroupIndex) and self.index.table.values is not None:
            self._mean_keys = torch.zeros_like(self.index.table.values, device=shape.device)
            self._mean_values = torch.zeros_like(self._mean_keys)
            spread = self.index.table.second_order
            if spread is not None:
                self._spread = SecondOrder(
                    torch.zeros_like(spread.deviations, device=shape.device),
                    torch.zeros_like(spread.tilts, device=shape.device),
                )
            groups = self._mean_keys.shape[3]
            self._log_counts = torch.zeros(*leading, groups, device=shape.device)
            self._mean_counts = torch.zeros(leading, dtype=torch.int32, device=shape.device)

    @property
    def bytes(self) -> OffloadBytes:
        """Of all that is allocated."""
        room = self._room * self._arena.shape.bytes_per_entry * self._arena.shape.slots
        tensors = [self._listed, self._numbers, self._staged_keys, self._staged_values]
        if self._mean_keys is not None and self._mean_values is not None:
            tensors += [self._mean_keys, self._mean_values, self._log_counts, self._mean_counts]
        if self._spread is not None:
            tensors += [self._spread.deviations, self._spread.tilts]
        device = room + sum(tensor.numel() * tensor.itemsize for tensor in tensors)
        host = self._host.shape.total_bytes + self._held.numel() * self._held.itemsize
        return OffloadBytes(device, host + index_bytes(self._rule, self._host.shape, self._places))

    # --- the speech -----------------------------------------------------------------------------

    def host_rows(self, rows: SpeechRows) -> SpeechRows:
        """The rows as the index knows them."""
        return replace(rows, starts=(0,) * len(rows.slots), device=HOST)

    def write(self, layer: int, slot: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Store the speech of a slot; keys, values (kv_heads, entries, head_dim)."""
        self._host.write_block(layer, [slot], keys[None], values[None])
        self._held[layer, slot] = NOTHING

    def keys_on_host(self, layer: int, rows: SpeechRows) -> torch.Tensor:
        """(rows, kv_heads, places, head_dim) in the order of the index."""
        return rows.of(self._host.keys[layer])

    def whole(self, layer: int, slot: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of a slot's places on the device, (1, kv_heads, places, head_dim).

        They hold until the next call.
        """
        self._staged_keys[0].copy_(self._host.keys[layer, slot], non_blocking=True)
        self._staged_values[0].copy_(self._host.values[layer, slot], non_blocking=True)
        return self._staged_keys, self._staged_values

    # --- a step ---------------------------------------------------------------------------------

    def bring(
        self, layer: int, slots: Sequence[int], entries: torch.Tensor, counts: torch.Tensor
    ) -> None:
        """See to it that chosen entries lie on the device, and list their places for `listed`.

        Args:
            layer: of the arena.
            slots: of the rows.
            entries: (rows, kv_heads, M) int64 on the host.
            counts: (rows, kv_heads) int64, how many of them are chosen; at most the room.
        """
        at = list(slots)
        assert int(counts.max()) <= self._room, (int(counts.max()), self._room)
        held = self._held[layer, at].long()
        none = self._places  # a column beyond all entries
        is_chosen = torch.arange(entries.shape[2]) < counts[:, :, None]
        wanted = torch.zeros(*counts.shape, none + 1, dtype=torch.bool)
        wanted.scatter_(2, entries.where(is_chosen, none), True)
        wanted[:, :, none] = False
        stays = wanted.gather(2, held.where(held >= 0, none))
        missing = wanted.clone()
        missing.scatter_(2, held.where(stays, none), False)
        row, head, entry = missing.nonzero(as_tuple=True)
        if len(row):
            free_first = stays.to(torch.uint8).argsort(dim=2, stable=True)
            rank = missing.cumsum(dim=2)[row, head, entry] - 1
            place = free_first[row, head, rank]
            held[row, head, place] = entry
            self._held[layer, at] = held.to(torch.int32)
            self._fetch(layer, torch.tensor(at)[row], head, entry, place)
        place_of = torch.zeros_like(wanted, dtype=torch.long)
        place_of.scatter_(
            2, held.where(held >= 0, none), torch.arange(self._room).expand_as(held).contiguous()
        )
        listed = place_of.gather(2, entries.where(is_chosen, none)) + self._first_place
        device = self._arena.shape.device
        on_device = torch.tensor(at, device=device)
        padded = torch.nn.functional.pad(listed, (0, self._room - listed.shape[2]))
        self._listed[on_device] = padded.to(device, torch.int32, non_blocking=True)
        self._numbers[on_device] = counts.to(device, torch.int32, non_blocking=True)
        self.traffic += Traffic(int(counts.sum()), len(row))

    def _fetch(
        self,
        layer: int,
        slot: torch.Tensor,
        head: torch.Tensor,
        entry: torch.Tensor,
        place: torch.Tensor,
    ) -> None:
        """Copy entries to their places, in one go for all rows and heads."""
        device = self._arena.shape.device
        at = torch.stack((slot, head, place + self._first_place)).to(device, non_blocking=True)
        for ours, theirs in (
            (self._host.keys[layer], self._arena.keys[layer]),
            (self._host.values[layer], self._arena.values[layer]),
        ):
            moved = ours[slot, head, entry]
            if device.type == "cuda":
                moved = moved.pin_memory()
            theirs[at[0], at[1], at[2]] = moved.to(device, non_blocking=True)

    @property
    def listed(self) -> tuple[torch.Tensor, torch.Tensor]:
        """`indices` and `num_indices` of a selection by slots, as the last `bring` left them."""
        return self._listed, self._numbers

    def summaries(
        self, layer: int, rows: SpeechRows, chosen: Summaries | None, others: Sequence[int]
    ) -> Summaries | None:
        """The index's summaries (a state of slots) as they lie on the device.

        Means are sent with a row's first step, and in every step if its groups move.

        rows: that were chosen for. others: slots of rows that read all of their speech.
        """
        if self._mean_keys is None or self._mean_values is None:
            assert chosen is None, chosen
            return None
        device, spread = self._arena.shape.device, None
        if self._spread is not None:
            spread = SecondOrder(self._spread.deviations[layer], self._spread.tilts[layer])
        if others:
            self._mean_counts[torch.tensor(list(others), device=device)] = 0
        if chosen is not None:
            slots = rows.slot_index.long()
            on_device = slots.to(device)
            for ours, theirs in (
                (chosen.log_counts, self._log_counts),
                (chosen.counts, self._mean_counts),
            ):
                theirs[on_device] = ours[slots].to(device, non_blocking=True)
            sent = [
                slot
                for slot, step in zip(rows.slots, rows.steps, strict=True)
                if step == 1 or self._rule.moves
            ]
            for slot in sent:
                self._mean_keys[layer, slot].copy_(chosen.keys[slot], non_blocking=True)
                self._mean_values[layer, slot].copy_(chosen.values[slot], non_blocking=True)
                if spread is not None and chosen.second_order is not None:
                    own = chosen.second_order
                    spread.deviations[slot].copy_(own.deviations[slot], non_blocking=True)
                    spread.tilts[slot].copy_(own.tilts[slot], non_blocking=True)
        return Summaries(
            self._mean_keys[layer],
            self._mean_values[layer],
            self._log_counts,
            self._mean_counts,
            spread,
        )


def offload_bytes(rule: RetrievalRule, shape: ArenaShape, places: int) -> OffloadBytes:
    """What a SpeechOffload for such an arena takes; shape: but for its capacity."""
    room = rule.most_read(places)
    arena = KvArena(replace(shape, capacity=room, device=torch.device("meta")))
    return SpeechOffload(arena, rule, places).bytes


def offload_note(held: OffloadBytes, traffic: Traffic) -> tuple[str, ...]:
    """What offloading came to, in one line; nothing if nothing is offloaded."""
    if not held.device:
        return ()
    fetched = 100 * traffic.fetched / max(1, traffic.read)
    return (
        f"kv offload: {held.device / 1e6:.1f} MB of the speech cache on the device, "
        f"{held.host / 1e6:.1f} MB in host memory; {fetched:.1f} % of the entries that steps read "
        "were fetched for them",
    )
