"""`murmur sweep-chunks` and `murmur sweep-evict`: what a setting costs and what it gives."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmur_cli.commands.console import print_data, stderr_console, stdout_console
from murmur_cli.commands.table import print_table
from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.settings import DEFAULT_BATCH_SIZE, DEFAULT_CHUNK_S, Precision, parse_precision

if TYPE_CHECKING:
    from murmur_cli.sweeps.accuracy import Accuracy
    from murmur_cli.sweeps.build import SweepGrid
    from murmur_cli.sweeps.results import SweepResult
    from murmur_cli.sweeps.runner import SweepPlan

EXIT_CODES_HELP = (
    "Exit codes: 0 all runs done; 1 some failed (they are tried again next time); 2 wrong call; "
    "3 nothing could be run; 4 model missing; 130 interrupted (call again to go on)."
)
GRID, RUNS, SCORING, OUTPUT = "Grid", "Runs", "Scoring", "Output"
DEFAULT_SIZES = "30,60,120,300,600,900,full"
DEFAULT_WITHIN = 0.5

Audio = Annotated[
    list[Path], typer.Argument(help="Recordings and folders of recordings.", show_default=False)
]
Output = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder of the sweep; what ran there is not run again.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
References = Annotated[
    list[Path] | None,
    typer.Option(
        "--ref",
        metavar="PATH",
        help="References: files and folders, repeatable.",
        show_default=False,
        rich_help_panel=SCORING,
    ),
]
RefPattern = Annotated[
    str | None,
    typer.Option(
        metavar="GLOB",
        help="Of reference folders, only files whose name matches.",
        show_default=False,
        rich_help_panel=SCORING,
    ),
]
Uem = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="UEM file or folder: score only these stretches.",
        show_default=False,
        rich_help_panel=SCORING,
    ),
]
Norm = Annotated[
    str, typer.Option(help="Spelling: none, basic, whisper, chime8.", rich_help_panel=SCORING)
]
Collar = Annotated[float, typer.Option(help="Of tcpWER, in seconds.", rich_help_panel=SCORING)]
Within = Annotated[
    float,
    typer.Option(help="Points of the best that are as good as the best.", rich_help_panel=SCORING),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        help="As for transcribe, repeatable.  [default: auto]",
        show_default=False,
        rich_help_panel=GRID,
    ),
]
Repeats = Annotated[
    int, typer.Option(help="Of every run; medians are shown.", rich_help_panel=RUNS)
]
Threads = Annotated[
    int | None,
    typer.Option(
        help="Of the arithmetic; default OMP_NUM_THREADS, else all cores.", rich_help_panel=RUNS
    ),
]
Language = Annotated[
    str | None, typer.Option(help="Language code such as en.", rich_help_panel=RUNS)
]
BatchSize = Annotated[int, typer.Option(help="Requests decoded together.", rich_help_panel=RUNS)]
PrecisionName = Annotated[
    str, typer.Option("--precision", help="As for transcribe.", rich_help_panel=RUNS)
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.", rich_help_panel=RUNS)]
Diarize = Annotated[
    bool, typer.Option("--diarize/--no-diarize", help="Find speakers.", rich_help_panel=RUNS)
]
Recursive = Annotated[
    bool, typer.Option("--recursive", "-r", help="Search deeply.", rich_help_panel=RUNS)
]
WriteRecipe = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|NAME",
        help="Store the recommendation for 'transcribe --recipe'; under a bare NAME "
        "'--chunk auto' finds it, too.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True, slots=True)
class _Call:
    """What both commands are told."""

    audio: Sequence[Path]
    output: Path
    references: Sequence[Path]
    ref_pattern: str | None
    uem: Path | None
    norm: str
    collar: float
    within: float
    repeats: int
    threads: int | None
    common: dict[str, Any]
    recursive: bool
    write_recipe: str | None


def sweep_chunks_command(
    audio: Audio,
    output: Output,
    sizes: Annotated[
        str,
        typer.Option(help="Longest chunks in seconds; 'full' is one chunk.", rich_help_panel=GRID),
    ] = DEFAULT_SIZES,
    evict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY[:KEY=VALUE,…]",
            help="KV policy, repeatable.  [default: none]",
            show_default=False,
            rich_help_panel=GRID,
        ),
    ] = None,
    model: Models = None,
    ref: References = None,
    ref_pattern: RefPattern = None,
    uem: Uem = None,
    norm: Norm = "basic",
    collar: Collar = 5.0,
    within: Within = DEFAULT_WITHIN,
    repeats: Repeats = 1,
    threads: Threads = None,
    language: Language = None,
    batch_size: BatchSize = DEFAULT_BATCH_SIZE,
    precision: PrecisionName = Precision.EXACT.value,
    device: Device = "auto",
    diarize: Diarize = True,
    recursive: Recursive = False,
    write_recipe: WriteRecipe = None,
) -> None:
    """Measure chunk sizes on recordings of your own: errors, time, memory, and which to take.

    Every run is kept in DIR: an interrupted sweep goes on, a longer grid runs only what is new.
    Without references it tells how far each size's words are from those of the longest chunk.
    """
    from murmur_cli.sweeps.build import SweepGrid
    from murmur_cli.sweeps.grid import parse_policy, parse_sizes

    grid = SweepGrid(
        tuple(model or ["auto"]),
        parse_sizes(sizes),
        tuple(parse_policy(text) for text in evict or ["none"]),
        {},
    )
    common = _common(language, batch_size, precision, device, diarize)
    call = _Call(
        audio,
        output,
        ref or (),
        ref_pattern,
        uem,
        norm,
        collar,
        within,
        repeats,
        threads,
        common,
        recursive,
        write_recipe,
    )
    _run(call, grid, by_size=True)


def sweep_evict_command(
    audio: Audio,
    output: Output,
    evict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY[:KEY=VALUE,…]",
            help="KV policy, repeatable; none is always "
            "among them.  [default: output, speech, both, align]",
            show_default=False,
            rich_help_panel=GRID,
        ),
    ] = None,
    kv_budget: Annotated[
        str,
        typer.Option(
            metavar="N,N,…", help="Budgets for every policy that takes one.", rich_help_panel=GRID
        ),
    ] = "",
    evict_opt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY.KEY=V,V…",
            help="Values of an option, repeatable; all combinations are run.",
            rich_help_panel=GRID,
        ),
    ] = None,
    chunk: Annotated[
        str, typer.Option(help="Longest chunks in seconds, or 'full'.", rich_help_panel=GRID)
    ] = f"{DEFAULT_CHUNK_S:g}",
    model: Models = None,
    ref: References = None,
    ref_pattern: RefPattern = None,
    uem: Uem = None,
    norm: Norm = "basic",
    collar: Collar = 5.0,
    within: Within = DEFAULT_WITHIN,
    repeats: Repeats = 1,
    threads: Threads = None,
    language: Language = None,
    batch_size: BatchSize = DEFAULT_BATCH_SIZE,
    precision: PrecisionName = Precision.EXACT.value,
    device: Device = "auto",
    diarize: Diarize = True,
    recursive: Recursive = False,
    write_recipe: WriteRecipe = None,
) -> None:
    """Measure KV policies, their budgets and options as sweep-chunks measures chunk sizes."""
    from murmur_cli.sweeps.build import SweepGrid
    from murmur_cli.sweeps.grid import parse_policy, parse_sizes, parse_variants

    named = evict or ["output", "speech", "both", "align"]
    policies = dict.fromkeys(parse_policy(text) for text in ("none", *named))
    grid = SweepGrid(
        tuple(model or ["auto"]),
        parse_sizes(chunk),
        tuple(policies),
        parse_variants(evict_opt or ()),
        tuple(dict.fromkeys(part.strip() for part in kv_budget.split(",") if part.strip())),
    )
    common = _common(language, batch_size, precision, device, diarize)
    call = _Call(
        audio,
        output,
        ref or (),
        ref_pattern,
        uem,
        norm,
        collar,
        within,
        repeats,
        threads,
        common,
        recursive,
        write_recipe,
    )
    _run(call, grid, by_size=False)


def _common(
    language: str | None, batch_size: int, precision: str, device: str, diarize: bool
) -> dict[str, Any]:
    """Settings that no run changes, by their Python names."""
    from murmur_cli.models.device import resolve_device

    return {
        "language": language.strip().lower() if language is not None else None,
        "batch_size": batch_size,
        "precision": parse_precision(precision).value,
        "device": resolve_device(device),
        "diarize": diarize,
    }


def _run(call: _Call, grid: SweepGrid, *, by_size: bool) -> None:
    from murmur_cli.audio.discover import find_inputs
    from murmur_cli.sweeps.build import plan_of, settings_for
    from murmur_cli.sweeps.recordings import read_sweep_audio
    from murmur_cli.sweeps.report_files import write_sweep
    from murmur_cli.sweeps.results import result_of
    from murmur_cli.sweeps.run_file import RunFile
    from murmur_cli.sweeps.runner import run_sweep
    from murmur_cli.writers.output import check_directory

    if not 0 <= call.within < 100:
        raise UsageError(f"--within {call.within:g}: give percentage points, 0 or more")
    accuracy = _accuracy(call)
    check_directory(call.output)
    notes = stderr_console()
    sources = find_inputs(call.audio, recursive=call.recursive)
    runs = RunFile(call.output)
    audio = read_sweep_audio(sources, call.output)
    for session, reason in audio.unreadable.items():
        notes.print(f"failed: {session}: {reason}")
    if not audio.recordings:
        raise typer.Exit(ExitCode.NOTHING_PROCESSED)
    settings, scaled = settings_for(grid, call.common, audio, notes.print)
    plan = plan_of(
        settings,
        scaled,
        audio,
        call.common,
        repeats=call.repeats,
        threads=call.threads or _default_threads(),
        folder=call.output,
    )
    try:
        run_sweep(plan, runs, notes.print)
    except KeyboardInterrupt:
        notes.print("interrupted; what ran is kept: the same call goes on")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    result = result_of(plan, runs, accuracy, by_size=by_size, within=call.within)
    paths = write_sweep(result, call.output)
    notes.print(f"wrote {' '.join(str(path) for path in paths)}")
    if call.write_recipe is not None:
        _write_recipe(call.write_recipe, plan, result)
    _print(result)
    if not any(summary.done for summary in result.summaries):
        raise typer.Exit(ExitCode.NOTHING_PROCESSED)
    if result.failures:
        raise typer.Exit(ExitCode.SOME_FAILED)


def _write_recipe(name: str, plan: SweepPlan, result: SweepResult) -> None:
    """Store the recommendation, and say how to use it."""
    from murmur_cli.sweeps.recipe_text import recipe_path, recipe_text
    from murmur_cli.sweeps.runner import kinds_of
    from murmur_cli.writers.output import check_directory, write_whole

    notes = stderr_console()
    if result.recommendation is None:
        notes.print("no recipe written: there is no recommendation")
        return
    path = recipe_path(name)
    check_directory(path.parent)
    kinds = kinds_of(plan) if result.by_size else {}
    write_whole(path, recipe_text(path.stem, result, kinds).encode("utf-8"))
    notes.print(f"wrote {path}; use it: murmur transcribe --recipe {name}")


def _accuracy(call: _Call) -> Accuracy:
    """The references, read and checked before anything runs.

    Raises:
        UsageError: a reference or UEM that is not there or cannot be read.
    """
    from murmur_cli.scoring.normalizers.registry import make_normalizer
    from murmur_cli.scoring.settings import ScoreSettings
    from murmur_cli.scoring.sources import find_files, has_uem, read_side, read_uem
    from murmur_cli.sweeps.accuracy import Accuracy

    language = call.common["language"] or "en"
    normalizer = make_normalizer(call.norm, language=language)
    side = None
    stretches = {}
    if call.references:
        files = find_files(call.references, call.ref_pattern)
        side = read_side(files, chosen=frozenset(call.references))
        if side.unreadable:
            raise UsageError(f"reference {side.unreadable[0].reason}")
    for place in [call.uem] if call.uem is not None else call.references:
        if place == call.uem or has_uem(place):
            stretches.update(read_uem(place))
    return Accuracy(side, normalizer, ScoreSettings(call.collar), stretches)


def _print(result: SweepResult) -> None:
    """The table and, last, what to take."""
    from murmur_cli.sweeps.table import header, rows

    console = stdout_console()
    with console.capture() as captured:
        print_table(console, header(result), list(rows(result)))
        console.print()
        for line in result.about:
            console.print(line)
        for session, reason in result.failures.items():
            console.print(f"failed: {session}: {reason}")
        if result.recommendation is None:
            console.print("no recommendation: no setting did what the others did")
        else:
            console.print(result.recommendation.text)
    print_data(captured.get())


def _default_threads() -> int:
    from murmur_cli.models.machine import usable_cores

    told = os.environ.get("OMP_NUM_THREADS", "")
    return int(told) if told.isdigit() and int(told) > 0 else usable_cores()
