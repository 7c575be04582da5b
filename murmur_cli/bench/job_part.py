"""Contenders on the same audio, in alternation, with the errors of each beside its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from murmur_cli.bench.bench_audio import BenchAudio
from murmur_cli.bench.contender_process import UNKNOWN, ContenderProcess, Heard, Pythons
from murmur_cli.bench.recipe import Contender, JobPart, Recipe
from murmur_cli.bench.record import BenchPart, BenchRow, Column, Figure
from murmur_cli.bench.scoring import (
    NORMALISER,
    Errors,
    speaker_word_errors,
    time_errors,
    with_speakers,
    word_errors,
)
from murmur_cli.bench.spread import spread_of
from murmur_cli.bench.worker_process import WorkerError

WARM_UP_S = 20.0

SPEED = Column("times_realtime", "× real time")
PEAK = Column("peak_bytes", "peak MB", digits=0, divisor=1e6)
WER = Column("wer_percent", "WER %", digits=2)
KV = Column("kv_bytes_per_token", "KV kB/token", digits=0, divisor=1e3)
CPU = Column("cpu_s", "CPU s")
CPWER = Column("cpwer_percent", "cpWER %", digits=2)
DER = Column("der_percent", "DER %", digits=2)
JER = Column("jer_percent", "JER %", digits=2)
SPEAKER_WORDS = Column("cpwer_minus_wer_percent", "cpWER − WER", digits=2)
COUNT = Column("speaker_count_error", "speakers off", digits=2)
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
    """Repeats of one contender; `heard` is from its last round."""

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
                process.run([warm_up])
                processes[contender.name] = process
                remarks += _remarks(process)
            except WorkerError as error:
                runs[contender.name].failure = str(error)
                bench.say(f"{key}: {contender.name} not run: {error}")
        _alternate(bench, key, part.rounds, list(processes.values()), files, runs)
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
        *((CPWER, SPEAKER_WORDS, DER, JER, COUNT, SPEAKERS_RTF) if diarize else (KV,)),
    )
    return BenchPart(key, title, note, rows, columns, part.baseline), tuple(remarks)


def _alternate(
    bench: Bench,
    key: str,
    rounds: int,
    processes: Sequence[ContenderProcess],
    files: Sequence[Path],
    runs: dict[str, _Runs],
) -> None:
    for number in range(rounds):
        turn = number % max(1, len(processes))
        for process in (*processes[turn:], *processes[:turn]):
            own = runs[process.contender.name]
            if own.failure is not None or number >= (process.contender.rounds or rounds):
                continue
            try:
                result = process.run(files)
            except WorkerError as error:
                own.failure = str(error)
                continue
            own.wall_s.append(result.wall_s)
            own.cpu_s.append(result.cpu_s)
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
    figures: dict[str, Figure] = {
        SPEED.key: seconds / spread_of(runs.wall_s).median,
        CPU.key: spread_of(runs.cpu_s).median,
        PEAK.key: runs.peak_bytes,
        KV.key: kv_bytes_per_token(runs.heard),
        SPEAKERS_RTF.key: spread_of(runs.speakers_s).median / seconds if diarize else None,
    }
    figures |= error_figures(audio, runs.heard, diarize=diarize)
    return BenchRow(contender.name, tuple(runs.wall_s), figures, options)


def error_figures(
    audio: Sequence[BenchAudio], heard: Sequence[Heard], *, diarize: bool
) -> dict[str, Figure]:
    """Rates pooled over the recordings that have a reference; None where none has."""
    words, speakers, times, jaccard = Errors(), Errors(), Errors(), Errors()
    counts: list[int] = []
    for one, found in zip(audio, heard, strict=True):
        if one.spoken is not None:
            words += word_errors(one.spoken, found.words)
        if diarize and one.spoken is not None:
            named = any(word.speaker != UNKNOWN for word in found.words)
            given = found.words if named else with_speakers(found.words, found.turns)
            speakers += speaker_word_errors(one.spoken, given)
        if diarize and one.turns is not None:
            errors = time_errors(one.turns, found.turns, one.duration_s)
            times, jaccard = times + errors.time, jaccard + errors.jaccard
            counts.append(abs(errors.count))
    wer, cpwer = words.percent, speakers.percent
    return {
        WER.key: wer,
        CPWER.key: cpwer,
        SPEAKER_WORDS.key: None if wer is None or cpwer is None else cpwer - wer,
        DER.key: times.percent,
        JER.key: jaccard.percent,
        COUNT.key: sum(counts) / len(counts) if counts else None,
    }


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
