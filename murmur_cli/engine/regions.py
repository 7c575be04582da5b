"""Regions of a row's KV entries, and which of them one step reads.

A policy sees regions, never the model's layout: whether `speech` lives in the self-attention
cache (decoder-only models) or in the cross-attention cache (Whisper) is the adapter's affair.
Prompt entries before and after the speech are always read.
"""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[int, int]
"""Half-open range of entries, relative to the start of its region; start < end."""


@dataclass(frozen=True, slots=True)
class Focus:
    """Where the heads that follow the audio attend, over the last steps of one row.

    Attributes:
        position: entry of the speech region, a fraction.
        spread: distance from that position within which about half of the attention lies.
        mass: share of these heads' attention that meets speech outside the sinks, 0 to 1.
    """

    position: float
    spread: float
    mass: float


@dataclass(frozen=True, slots=True)
class RowView:
    """What a policy may know of one row at one decode step.

    Attributes:
        step: decode step of this row, counted from 1; prompt tokens do not count.
        speech_entries: entries of the speech region.
        output_entries: entries of the output region, the current token's included.
        prompt_entries: prompt entries before the speech region.
        suffix_entries: prompt entries between the speech and the output region.
        focus: where the row attends; None unless the policy asks for it, and while nothing
            is known.
    """

    step: int
    speech_entries: int
    output_entries: int
    prompt_entries: int = 0
    suffix_entries: int = 0
    focus: Focus | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What one step of one row reads: ascending, disjoint ranges of each region.

    speech: None where the policy's index chooses, for each layer and KV head.
    """

    speech: tuple[Range, ...] | None
    output: tuple[Range, ...]


def merge_ranges(*ranges: Range) -> tuple[Range, ...]:
    """Ascending, disjoint union of ranges; empty ones vanish, touching ones become one."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def count_entries(ranges: tuple[Range, ...]) -> int:
    """Entries covered by disjoint ranges."""
    return sum(end - start for start, end in ranges)
