"""Calls the machine code that chooses groups: argument block, scratch, threads."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass

import torch

from murmur_kernels.compiled.choice_arguments import CHOICE
from murmur_kernels.compiled.code import CACHE_LINE_BYTES
from murmur_kernels.compiled.machine_code import MachineCode
from murmur_kernels.compiled.team import run_on_team, team_size
from murmur_kernels.group_choice import GROUPS_UNIT, GroupChoice, GroupState


def choose_compiled(
    code: MachineCode,
    query: torch.Tensor,
    choice: GroupChoice,
    places: torch.Tensor,
    scale: float,
) -> None:
    """`choose_groups` on checked arguments, by `code` made for them."""
    made = choice_block(choice, query.float().contiguous(), places, scale)
    stride = -(-choice_scratch_bytes(choice) // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
    threads = team_size(made.block.tasks)
    scratch = torch.empty(threads, stride, dtype=torch.uint8)
    made.block.scratch, made.block.scratch_stride = scratch.data_ptr(), stride
    run_on_team(code, made.block, threads)


@dataclass(frozen=True, slots=True)
class ChoiceBlock:
    """The arguments, and what they point to that nobody else holds."""

    block: ctypes.Structure
    held: tuple[object, ...]


def choice_block(
    choice: GroupChoice, query: torch.Tensor, places: torch.Tensor, scale: float
) -> ChoiceBlock:
    """Arguments for a contiguous float32 query; scratch memory is the caller's to name."""
    rows, heads, _ = query.shape
    state, ranking = choice.state, choice.ranking
    if not state.addresses:
        state.addresses.update(_state_arguments(state))
    due, fresh = (ctypes.c_bool * rows)(*choice.due), (ctypes.c_bool * rows)(*choice.fresh)
    kv_heads = state.starts.shape[1]
    block = CHOICE.block(
        **state.addresses,
        **CHOICE.tensor_arguments("places", places),
        tasks=rows * kv_heads,
        group=heads // kv_heads,
        scale=_bits(scale),
        weight=_bits(ranking.weight),
        decay=_bits(ranking.decay),
        reach=_bits(ranking.reach),
        query=query.data_ptr(),
        due=ctypes.addressof(due),
        fresh=ctypes.addressof(fresh),
    )
    return ChoiceBlock(block, (due, fresh, query, places))


def choice_scratch_bytes(choice: GroupChoice) -> int:
    """Of one thread: two derived queries, a score of each group."""
    return 4 * (2 * choice.state.low.shape[3] + choice.state.starts.shape[2])


def _state_arguments(state: GroupState) -> dict[str, int]:
    found = {
        "kv_heads": state.starts.shape[1],
        "num_slots": state.starts.shape[0],
        "vectors": state.starts.shape[2] // GROUPS_UNIT,
        "ranges_room": state.ranges.shape[2],
    }
    for name in CHOICE.tensors:
        tensor = getattr(state, name, None)
        if tensor is not None:
            found |= CHOICE.tensor_arguments(name, tensor)
    return found


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")
