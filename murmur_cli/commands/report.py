"""What the user is told of each recording as it ends."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from murmur_cli.commands.console import print_data
from murmur_cli.commands.progress_display import ProgressDisplay
from murmur_cli.errors import ExitCode
from murmur_cli.settings import TranscribeSettings
from murmur_cli.types import KvUsage, Transcript

if TYPE_CHECKING:
    from murmur_cli.batch import Outcome


@dataclass(frozen=True, slots=True)
class Detail:
    """How much is said: --show, --quiet, --debug."""

    show: bool
    quiet: bool
    debug: bool


def report_outcome(
    outcome: Outcome,
    settings: TranscribeSettings,
    display: ProgressDisplay,
    detail: Detail,
    *,
    num_recordings: int,
) -> None:
    """Print a failure, or the warnings, the data that was asked for, and a summary.

    Off a terminal the summary and the files are one line. Data goes to standard output, all
    else to standard error.

    Raises:
        Exit: with -o -, the reader of standard output is gone.
        MurmurError: standard output takes no more.
    """
    from murmur_cli.audio.path_text import path_text
    from murmur_cli.writers.registry import WRITERS

    name = path_text(outcome.source.path)
    if outcome.transcript is None:
        assert outcome.failure is not None
        # A reading error names the file itself.
        display.line(f"{name}: failed: {outcome.failure.removeprefix(f'{name}: ')}", style="red")
        if detail.debug and outcome.details is not None:
            print(outcome.details, file=sys.stderr)
        return
    for warning in outcome.transcript.warnings:
        display.note(f"{name}: {warning}", level="warning")
    if settings.to_stdout or detail.show:
        text = WRITERS[settings.formats[0] if settings.to_stdout else "txt"].render(
            outcome.transcript
        )
        if detail.show and num_recordings > 1:
            text = f"== {name}\n\n{text}\n"
        with display.cleared():
            heard = print_data(text)
        if settings.to_stdout and not heard:
            raise typer.Exit(ExitCode.OK)
    if detail.quiet:
        return
    lines = [f"{name}: {_summary(outcome.transcript)}"]
    if outcome.files:
        lines.append(" ".join(path_text(path) for path in outcome.files))
    for line in lines if display.is_live else [" -> ".join(lines)]:
        display.line(line)
    timings = outcome.transcript.timings
    display.note(f"{name}: " + ", ".join(f"{t.stage} {t.wall_s:.1f} s" for t in timings))
    if outcome.transcript.kv.steps:
        display.note(f"{name}: {_kv_read(outcome.transcript.kv)}")


def _summary(transcript: Transcript) -> str:
    """One line: status, length, words, speakers, language, flags, time."""
    facts = transcript.facts
    wall_s = sum(timing.wall_s for timing in transcript.timings)
    parts = [f"{facts.duration_s:.1f} s"]
    if not transcript.plan.chunks:
        level = "digital silence" if facts.peak_dbfs is None else f"peak {facts.peak_dbfs:.0f} dBFS"
        parts.append(f"no speech found ({level})")
    else:
        if any(chunk.model is not None for chunk in transcript.chunks):
            parts.append(_count(len(transcript.words), "word"))
        if transcript.speakers:
            parts.append(_count(len(transcript.speakers), "speaker"))
        if transcript.language:
            parts.append(transcript.language)
        loops = sum(chunk.loops for chunk in transcript.chunks)
        if loops:
            parts.append(f"{_count(loops, 'loop')} cut")
        flags = sorted({str(flag) for chunk in transcript.chunks for flag in chunk.flags})
        if flags:
            parts.append("flags: " + ", ".join(flags))
    return f"{transcript.status}: {', '.join(parts)}; took {wall_s:.1f} s"


def _kv_read(kv: KvUsage) -> str:
    """Bytes, bytes for each token, and shares of what full attention would have read."""
    shares = ", ".join(
        f"{100 * read / held:.0f} % of {entries}"
        for read, held, entries in (
            (kv.speech_entries_read, kv.speech_entries_held, "speech entries"),
            (kv.output_entries_read, kv.output_entries_held, "prompt and output entries"),
        )
        if held
    )
    return f"KV read {_bytes(kv.bytes_read)}, {_bytes(kv.bytes_read / kv.steps)} a token, {shares}"


def _bytes(number: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number / 1e3:.1f} kB"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
