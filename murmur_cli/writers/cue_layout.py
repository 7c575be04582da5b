"""Subtitle cues: their words, their lines and how long they stand.

The limits are those of common subtitling guides: 42 columns, two lines, 1 to 7 s, 20 columns
per second where time allows. Words are never dropped, altered or put in another order; a word
wider than a line (an address) stays whole on a line of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from murmur_cli.timebase import to_milliseconds
from murmur_cli.types import Segment, TimeSpan
from murmur_cli.writers.atom import atoms_of, join_atoms
from murmur_cli.writers.clock import span_ms
from murmur_cli.writers.cue_cuts import MAX_COLUMNS_PER_S, MAX_CUE_S, MIN_CUE_S, best_cuts
from murmur_cli.writers.field import one_line
from murmur_cli.writers.line_break import MeasuredText, measure
from murmur_cli.writers.script import display_width, is_right_to_left
from murmur_cli.writers.speaker_run import speaker_runs

# Segments of one speaker this close may share a cue; a longer pause is a cue's natural end.
_MAX_PAUSE_S = 1.0


@dataclass(frozen=True, slots=True)
class Cue:
    """What stands on the screen from `start_ms` to `end_ms`."""

    start_ms: int
    end_ms: int
    lines: tuple[str, ...]


def lay_out(segments: Sequence[Segment], duration_s: float) -> list[Cue]:
    """Cues in order of start, for segments in order of start.

    A speaker is named at the start of the first cue after a change.
    """
    cues: list[Cue] = []
    named: str | None = None
    for run in speaker_runs(segments, _MAX_PAUSE_S, max_run_s=float("inf")):
        atoms = atoms_of(run.words)
        if not atoms:
            continue
        tag = _tag(run.speaker, join_atoms(atoms)) if run.speaker != named else ""
        named = run.speaker
        text = measure(atoms, display_width(tag))
        cues.extend(_cue(text, start, end, tag) for start, end in best_cuts(text))
    return _with_reading_time(cues, to_milliseconds(duration_s))


def _tag(speaker: str | None, text: str) -> str:
    name = one_line(speaker or "")
    if not name:
        return ""
    # First-strong isolate: a Latin name must not turn the direction of a right-to-left line.
    return f"\u2068{name}\u2069: " if is_right_to_left(text) else f"{name}: "


def _cue(text: MeasuredText, start: int, end: int, tag: str) -> Cue:
    cut = text.line_break(start, end)
    first, second = join_atoms(text.atoms[start:cut]), join_atoms(text.atoms[cut:end])
    lines = ((tag if start == 0 else "") + first, second)
    end_s = max(atom.span.end_s for atom in text.atoms[start:end])
    span = TimeSpan(text.atoms[start].span.start_s, end_s)
    return Cue(*span_ms(span), tuple(line.rstrip() for line in lines if line))


def _with_reading_time(cues: Sequence[Cue], duration_ms: int) -> list[Cue]:
    """Let each cue stand as long as reading takes, up to the next cue's start, 7 s at most."""
    starts_after = [*(cue.start_ms for cue in cues[1:]), duration_ms]
    return [
        replace(cue, end_ms=_end_ms(cue, next_ms))
        for cue, next_ms in zip(cues, starts_after, strict=len(cues) > 0)
    ]


def _end_ms(cue: Cue, next_ms: int) -> int:
    columns = sum(map(display_width, cue.lines))
    wanted_s = max(MIN_CUE_S, columns / MAX_COLUMNS_PER_S)
    readable_ms = min(cue.start_ms + to_milliseconds(wanted_s), next_ms)
    return min(max(cue.end_ms, readable_ms), cue.start_ms + to_milliseconds(MAX_CUE_S))
