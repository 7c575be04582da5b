"""A sweep from its call to its report, for both commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from murmur_cli.commands.console import print_data, stderr_console, stdout_console
from murmur_cli.commands.score_table import print_unused
from murmur_cli.commands.sweep_call import SweepCall
from murmur_cli.commands.table import print_table
from murmur_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from murmur_cli.sweeps.accuracy import Accuracy
    from murmur_cli.sweeps.build import SweepGrid
    from murmur_cli.sweeps.results import SweepResult
    from murmur_cli.sweeps.run_file import RunFile
    from murmur_cli.sweeps.runner import SweepPlan


def run_and_report(call: SweepCall, grid: SweepGrid, *, by_size: bool) -> None:
    """Run what is missing, write the reports and print the table; ends with an exit code.

    Raises:
        UsageError: the call is wrong; nothing was run.
        ModelError: a model is missing.
    """
    from murmur_cli.sweeps.report_files import write_sweep
    from murmur_cli.sweeps.results import result_of
    from murmur_cli.sweeps.run_file import RunFile
    from murmur_cli.writers.output import check_directory

    accuracy = _accuracy(call)
    check_directory(call.output)
    if call.write_recipe is not None:
        _recipe_place(call.write_recipe)
    runs = RunFile(call.output)
    plan = _plan(call, grid)
    _run(plan, runs)
    result = result_of(plan, runs, accuracy, by_size=by_size, within=call.within)
    paths = write_sweep(result, call.output)
    stderr_console().print(f"wrote {' '.join(str(path) for path in paths)}")
    if call.write_recipe is not None:
        _write_recipe(call.write_recipe, plan, result)
    _print(result)
    if not any(summary.done for summary in result.summaries):
        raise typer.Exit(ExitCode.NOTHING_PROCESSED)
    if result.failures:
        raise typer.Exit(ExitCode.SOME_FAILED)


def _accuracy(call: SweepCall) -> Accuracy:
    """The references, read and checked before anything runs.

    Raises:
        UsageError: a reference or UEM that is not there or cannot be read.
    """
    from murmur_cli.scoring.normalizers.registry import make_normalizer
    from murmur_cli.scoring.settings import ScoreSettings
    from murmur_cli.scoring.sources import read_references
    from murmur_cli.scoring.stretches import read_stretches
    from murmur_cli.sweeps.accuracy import Accuracy
    from murmur_cli.sweeps.runner import TRANSCRIPTS

    settings = ScoreSettings(call.collar)
    normalizer = make_normalizer(call.norm, language=call.scored_language)
    references = call.ref or []
    if not references and (call.uem is not None or call.ref_pattern is not None):
        raise UsageError("--uem and --ref-pattern are about references: give --ref, too")
    side = None
    if references:
        # The folder of the sweep may lie among them.
        own = call.output / TRANSCRIPTS
        side = read_references(references, call.ref_pattern, apart=[own])
        print_unused(stderr_console(), side.unused)
    return Accuracy(side, normalizer, settings, read_stretches(call.uem, references))


def _plan(call: SweepCall, grid: SweepGrid) -> SweepPlan:
    """The plan; recordings that cannot be read are named.

    Raises:
        UsageError: no recording, or a setting that cannot be run.
        ModelError: a model is missing.
    """
    from murmur_cli.audio.discover import find_inputs
    from murmur_cli.sweeps.build import plan_of, settings_for
    from murmur_cli.sweeps.recordings import read_sweep_audio

    notes = stderr_console()
    common = call.common_settings()
    audio = read_sweep_audio(find_inputs(call.audio, recursive=call.recursive), call.output)
    for session, reason in audio.unreadable.items():
        notes.print(f"failed: {session}: {reason}")
    if not audio.recordings:
        raise typer.Exit(ExitCode.NOTHING_PROCESSED)
    settings, scaled = settings_for(grid, common, audio, notes.print)
    return plan_of(
        settings,
        scaled,
        audio,
        common,
        repeats=call.repeats,
        threads=call.thread_number,
        folder=call.output,
    )


def _run(plan: SweepPlan, runs: RunFile) -> None:
    from murmur_cli.sweeps.runner import run_sweep

    notes = stderr_console()
    try:
        run_sweep(plan, runs, notes.print)
    except KeyboardInterrupt:
        notes.print("interrupted; what ran is kept: the same call goes on")
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _recipe_place(name: str) -> Path:
    """Where the recipe goes; asked before hours of runs, too.

    Raises:
        UsageError: nothing can be written there.
    """
    from murmur_cli.sweeps.recipe_text import recipe_path
    from murmur_cli.writers.output import check_directory

    path = recipe_path(name)
    check_directory(path.parent, "--write-recipe")
    return path


def _write_recipe(name: str, plan: SweepPlan, result: SweepResult) -> None:
    """Store the recommendation, and say how to use it."""
    from murmur_cli.sweeps.recipe_text import recipe_text
    from murmur_cli.sweeps.runner import kinds_of
    from murmur_cli.writers.output import write_whole

    notes = stderr_console()
    if result.recommendation is None:
        notes.print("no recipe written: there is no recommendation")
        return
    path = _recipe_place(name)
    kinds = kinds_of(plan) if result.by_size else {}
    write_whole(path, recipe_text(path.stem, result, kinds).encode("utf-8"))
    notes.print(f"wrote {path}; use it: murmur transcribe --recipe {name}")


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
