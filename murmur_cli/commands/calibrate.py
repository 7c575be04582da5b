"""`murmur calibrate`: what each head of a recogniser needs to read of the speech."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.commands.console import stderr_console, stdout_console
from murmur_cli.commands.progress_display import ProgressDisplay
from murmur_cli.commands.speaker_options import (
    OUTPUT,
    ChannelsOption,
    RecursiveOption,
    TrackOption,
    chunk_seconds,
)
from murmur_cli.commands.table import print_table
from murmur_cli.errors import ExitCode, RecordingError, UsageError
from murmur_cli.settings import (
    DEFAULT_BATCH_SIZE,
    DEFAULT_CHUNK_S,
    Precision,
    TranscribeSettings,
    parse_channels,
    parse_precision,
)
from murmur_cli.types import ChannelMode

if TYPE_CHECKING:
    from murmur_cli.calibration.run import Calibration

MODEL = "Recognition"
EXIT_CODES_HELP = (
    "Exit codes: 0 the recipe is written; 2 wrong call, or no speech; 3 a recording cannot be "
    "read; 4 model missing; 130 interrupted."
)
DEFAULT_MEAN = 0.08
"""What c3r reads one by one; its summaries come on top."""


def calibrate_command(
    audio: Annotated[
        list[Path], typer.Argument(help="Recordings and folders of recordings.", show_default=False)
    ],
    write_recipe: Annotated[
        str,
        typer.Option(
            metavar="FILE|NAME",
            help="Where the budgets go; under a bare NAME '--kv-budget auto' finds them by itself.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ],
    mean: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            help="Share of the speech entries that a head may read, mean over all heads.",
            rich_help_panel=MODEL,
        ),
    ] = DEFAULT_MEAN,
    evict: Annotated[
        str,
        typer.Option(help="Policy that the recipe names.", rich_help_panel=MODEL),
    ] = "c3r",
    model: Annotated[str, typer.Option(help="As for transcribe.", rich_help_panel=MODEL)] = "auto",
    chunk: Annotated[
        str, typer.Option(help="Longest chunk in seconds.", rich_help_panel=MODEL)
    ] = f"{DEFAULT_CHUNK_S:g}",
    batch_size: Annotated[
        int, typer.Option(help="Requests decoded together.", rich_help_panel=MODEL)
    ] = DEFAULT_BATCH_SIZE,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language code such as en; detected if not given.", rich_help_panel=MODEL
        ),
    ] = None,
    precision: Annotated[
        str, typer.Option(help="As for transcribe.", rich_help_panel=MODEL)
    ] = Precision.EXACT.value,
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda or cuda:N.", rich_help_panel=MODEL)
    ] = "auto",
    channels: ChannelsOption = ChannelMode.AUTO.value,
    recursive: RecursiveOption = False,
    track: TrackOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what was chosen.")] = False,
) -> None:
    """Measure where a model's heads attend, and give each its share of a KV budget.

    Decodes the recordings with full attention and writes a recipe for --kv-budget auto.
    """
    if not 0 < mean <= 1:
        raise UsageError(f"--mean {mean:g}: give a share above 0 and at most 1")
    settings = TranscribeSettings(
        model=model,
        chunk_s=chunk_seconds(chunk),
        batch_size=batch_size,
        language=language.strip().lower() if language is not None else None,
        precision=parse_precision(precision),
        device=device,
        diarize=False,
        channels=parse_channels(channels),
        recursive=recursive,
        track=track,
    )
    display = ProgressDisplay(stderr_console(), quiet=quiet, verbose=verbose)
    try:
        made, path = _measure(audio, settings, evict, mean, write_recipe, display)
    except KeyboardInterrupt:
        display.line("interrupted; no recipe is written")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except RecordingError as error:
        display.line(f"failed: {error}; no recipe is written", style="red")
        raise typer.Exit(ExitCode.NOTHING_PROCESSED) from error
    if not quiet:
        display.line(f"wrote {path}; use it: murmur transcribe --recipe {write_recipe}")
        _print(made)


def _measure(
    audio: list[Path],
    settings: TranscribeSettings,
    evict: str,
    mean: float,
    write_recipe: str,
    display: ProgressDisplay,
) -> tuple[Calibration, Path]:
    """Measure, write the recipe and give its path; all that can be refused is refused before."""
    from murmur_cli.asr.registry import check_evict, check_request, check_takes_head_shares
    from murmur_cli.audio.discover import find_inputs
    from murmur_cli.audio.reader import read_recording
    from murmur_cli.calibration.recipe_text import recipe_text
    from murmur_cli.calibration.run import calibrate
    from murmur_cli.models.choice import choose_model
    from murmur_cli.models.device import resolve_device
    from murmur_cli.sweeps.recipe_text import recipe_path
    from murmur_cli.writers.output import check_directory, write_whole

    as_used = replace(settings, evict=evict)
    check_evict(as_used)
    sources = find_inputs(audio, recursive=settings.recursive)
    path = recipe_path(write_recipe)
    check_directory(path.parent, "--write-recipe")
    resolved = resolve_device(settings.device)
    choice = choose_model(settings.model, resolved)
    check_request(choice, as_used)
    check_takes_head_shares(choice, as_used)
    for source in sources:
        # Decoding is done again later; a file that fails then has cost the loading of a model.
        read_recording(source, track=settings.track, channels=settings.channels)
    display.note(f"model {choice.name} on {resolved}: {choice.reason}")
    with display:
        made = calibrate(sources, settings, choice, resolved, mean, display)
    heard = [source.session_id for source in sources]
    write_whole(path, recipe_text(path.stem, made, evict, heard).encode("utf-8"))
    return made, path


def _print(made: Calibration) -> None:
    """One line for each layer."""
    rows = []
    for layer, (shares, spreads) in enumerate(zip(made.shares.shares, made.spreads, strict=True)):
        if shares:
            rows.append(
                (
                    str(layer),
                    _span([head.share for head in spreads]),
                    _span([head.mass for head in spreads]),
                    _span(shares),
                )
            )
    console = stdout_console()
    print_table(console, ("layer", "attention spreads over", "of it on speech", "budget"), rows)


def _span(shares: list[float] | tuple[float, ...]) -> str:
    """Least to most, in percent."""
    return f"{100 * min(shares):.1f} to {100 * max(shares):.1f} %"
