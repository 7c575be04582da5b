"""Contenders on the same audio, in alternation, with the errors of each beside its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from murmur_cli.bench.bench_audio import BenchAudio
from murmur_cli.bench.contender_process import ContenderProcess, Heard, Pythons
from murmur_cli.bench.job_errors import (
    SPEAKER_COLUMNS,
    SPEAKER_DETAILS,
    WER,
    job_errors,
    pooled,
    recording_figures,
)
from murmur_cli.bench.recipe import Contender, JobPart, Recipe
from murmur_cli.bench.record import BenchPart, BenchRow, Column, Figure
from murmur_cli.bench.scoring import NORMALISER
from murmur_cli.bench.spread import spread_of
from murmur_cli.bench.worker_process import WorkerError

WARM_UP_S = 20.0

SPEED = Column("times_realtime", "× real time")
PEAK = Column("peak_bytes", "peak MB", digits=0, divisor=1e6)
KV = Column("kv_bytes_per_token", "KV kB/token", digits=0, divisor=1e3)
CPU = Column("cpu_s", "CPU s")
SPEAKERS_RTF = Column("speakers_real_time_factor", "speakers' RTF", digits=4)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bench:
    """What every part needs.

    Attributes:
        recipe: the run.
        pythons: interpreters.
        audio: recordings with their references.
        folder: for wave files and the workers' log.
        say: told what is being done.
    """

    recipe: Recipe
    pythons: Pythons
    audio: tuple[BenchAudio, ...]
    folder: Path
    say: Say


@dataclass(slots=True)
class _Runs:
    """Repeats of one contender; `heard` is from its last round.

    speakers_s: what finding turns took, of the rounds that tell.
    """

    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    speakers_s: list[float] = field(default_factory=list)
    peak_bytes: int = 0
    heard: tuple[Heard, ...] = ()
    failure: str | None = None


def measure_jobs(
    bench: Bench, part: JobPart, *, key: str, title: str, diarize: bool
) -> tuple[BenchPart, tuple[str, ...]]:
    """The part and what must be said of its contenders.

    Every contender has a process of its own with its models loaded, and has done a short job
    before the first clock runs. The order turns by one each round. A contender that cannot run,
    or fails, has a row that says why.
    """
    audio = tuple(one.excerpt(part.start_s, part.seconds) for one in bench.audio)
    files = [one.write(_made(bench.folder / key)) for one in audio]
    warm_up = audio[0].excerpt(0.0, WARM_UP_S).write(_made(bench.folder / "warm"))
    runs = {contender.name: _Runs() for contender in part.contender}
    remarks: list[str] = []
    with ExitStack() as stack:
        processes: dict[str, ContenderProcess] = {}
        for contender in part.contender:
            try:
                process = ContenderProcess(
                    contender,
                    bench.recipe,
                    bench.pythons,
                    bench.folder / "worker.log",
                    diarize=diarize,
                )
                stack.callback(process.close)
                process.run([warm_up], audio[:1])
                processes[contender.name] = process
                remarks += _remarks(process)
            except WorkerError as error:
                runs[contender.name].failure = str(error)
                bench.say(f"{key}: {contender.name} not run: {error}")
        _alternate(bench, key, part.rounds, list(processes.values()), files, audio, runs)
    rows = tuple(_row(one, runs[one.name], audio, diarize=diarize) for one in part.contender)
    seconds = sum(one.duration_s for one in audio)
    note = (
        f"{len(audio)} recording(s), {seconds:.0f} s, from the wave file on; models loaded and "
        f"warm; {part.rounds} round(s) in alternation; {bench.recipe.threads} threads; "
        f"errors with {NORMALISER}."
    )
    columns = (
        SPEED,
        CPU,
        PEAK,
        WER,
        *((*SPEAKER_COLUMNS, SPEAKERS_RTF) if diarize else (KV,)),
    )
    details = SPEAKER_DETAILS if diarize else ()
    made = BenchPart(key, title, note, rows, columns, part.baseline, details=details)
    return made, tuple(remarks)


def _alternate(
    bench: Bench,
    key: str,
    rounds: int,
    processes: Sequence[ContenderProcess],
    files: Sequence[Path],
    audio: Sequence[BenchAudio],
    runs: dict[str, _Runs],
) -> None:
    for number in range(rounds):
        turn = number % max(1, len(processes))
        for process in (*processes[turn:], *processes[:turn]):
            own = runs[process.contender.name]
            if own.failure is not None or number >= (process.contender.rounds or rounds):
                continue
            try:
                result = process.run(files, audio)
            except WorkerError as error:
                own.failure = str(error)
                continue
            own.wall_s.append(result.wall_s)
            own.cpu_s.append(result.cpu_s)
            if result.speakers_s is not None:
                own.speakers_s.append(result.speakers_s)
            own.peak_bytes = max(own.peak_bytes, result.peak_bytes)
            own.heard = result.heard
            bench.say(
                f"{key} round {number + 1} of {rounds}: {process.contender.name} "
                f"{own.wall_s[-1]:.1f} s"
            )


def _row(
    contender: Contender, runs: _Runs, audio: Sequence[BenchAudio], *, diarize: bool
) -> BenchRow:
    options = flat(contender.options)
    if runs.failure is not None:
        return BenchRow(contender.name, options=options, not_run=runs.failure)
    seconds = sum(one.duration_s for one in audio)
    errors = [
        job_errors(one, heard, diarize=diarize)
        for one, heard in zip(audio, runs.heard, strict=True)
    ]
    figures: dict[str, Figure] = {
        CPU.key: spread_of(runs.cpu_s).median,
        PEAK.key: runs.peak_bytes,
        KV.key: kv_bytes_per_token(runs.heard),
        SPEAKERS_RTF.key: spread_of(runs.speakers_s).median / seconds if runs.speakers_s else None,
        **pooled(errors),
    }
    recordings = {
        one.name: recording_figures(found)
        for one, found in zip(audio, errors, strict=True)
        if len(audio) > 1
    }
    if any(heard.words is None for heard in runs.heard):
        # Half of the job: its time is in the column of the speakers.
        return BenchRow(contender.name, (), figures, options, recordings=recordings)
    figures[SPEED.key] = seconds / spread_of(runs.wall_s).median
    return BenchRow(contender.name, tuple(runs.wall_s), figures, options, recordings=recordings)


def kv_bytes_per_token(heard: Sequence[Heard]) -> float | None:
    """Bytes of keys and values that a decode step of one row read; None for a peer."""
    steps = sum(found.kv.get("steps", 0) for found in heard)
    return sum(found.kv["bytes_read"] for found in heard) / steps if steps else None


def flat(options: dict[str, Any], prefix: str = "") -> dict[str, Figure]:
    """Options with dots for what lies inside: {'evict_options.window': 300}."""
    found: dict[str, Figure] = {}
    for key, value in options.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def _remarks(process: ContenderProcess) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in process.versions.items())
    return [text for text in (process.remark, versions and f"peer: {versions}") if text]


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
