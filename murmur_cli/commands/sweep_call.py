"""What both sweep commands are told: a record whose fields are the options that they share."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from murmur_cli.errors import UsageError
from murmur_cli.settings import DEFAULT_BATCH_SIZE, Precision, parse_precision

GRID, RUNS, SCORING, OUTPUT = "Grid", "Runs", "Scoring", "Output"
EXIT_CODES_HELP = (
    "Exit codes: 0 all runs done; 1 some failed (they are tried again next time); 2 wrong call; "
    "3 nothing could be run; 4 model missing; 130 interrupted (call again to go on)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepCall:
    """What a sweep is told beside its grid. The type of a field is its option."""

    audio: Annotated[
        list[Path], typer.Argument(help="Recordings and folders of recordings.", show_default=False)
    ]
    output: Annotated[
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
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="As for transcribe, repeatable.  [default: auto]",
            show_default=False,
            rich_help_panel=GRID,
        ),
    ] = None
    ref: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="References: files and folders, repeatable.",
            show_default=False,
            rich_help_panel=SCORING,
        ),
    ] = None
    ref_pattern: Annotated[
        str | None,
        typer.Option(
            metavar="GLOB",
            help="Of reference folders, only files whose name matches.",
            show_default=False,
            rich_help_panel=SCORING,
        ),
    ] = None
    uem: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="UEM file or folder: score only these stretches; 'none' for whole files. "
            "If not given, the UEM files in the folders of --ref.",
            show_default=False,
            rich_help_panel=SCORING,
        ),
    ] = None
    norm: Annotated[
        str, typer.Option(help="Spelling: none, basic, whisper, chime8.", rich_help_panel=SCORING)
    ] = "basic"
    collar: Annotated[
        float, typer.Option(help="Of tcpWER, in seconds.", rich_help_panel=SCORING)
    ] = 5.0
    within: Annotated[
        float,
        typer.Option(
            help="Points of the best that are as good as the best.", rich_help_panel=SCORING
        ),
    ] = 0.5
    repeats: Annotated[
        int, typer.Option(help="Of every run; medians are shown.", rich_help_panel=RUNS)
    ] = 1
    threads: Annotated[
        int | None,
        typer.Option(
            help="Of the arithmetic; default OMP_NUM_THREADS, else all cores.",
            rich_help_panel=RUNS,
        ),
    ] = None
    language: Annotated[
        str | None, typer.Option(help="Language code such as en.", rich_help_panel=RUNS)
    ] = None
    batch_size: Annotated[
        int, typer.Option(help="Requests decoded together.", rich_help_panel=RUNS)
    ] = DEFAULT_BATCH_SIZE
    precision: Annotated[str, typer.Option(help="As for transcribe.", rich_help_panel=RUNS)] = (
        Precision.EXACT.value
    )
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda or cuda:N.", rich_help_panel=RUNS)
    ] = "auto"
    diarize: Annotated[
        bool, typer.Option("--diarize/--no-diarize", help="Find speakers.", rich_help_panel=RUNS)
    ] = True
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Search deeply.", rich_help_panel=RUNS)
    ] = False
    write_recipe: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Store the recommendation for 'transcribe --recipe'; under a bare NAME "
            "'--chunk auto' finds it, too.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None

    def __post_init__(self) -> None:
        if not 0 <= self.within < 100:
            raise UsageError(f"--within {self.within:g}: give percentage points, 0 or more")

    @property
    def models(self) -> tuple[str, ...]:
        """Those that were named, else the automatic choice."""
        return tuple(self.model or ["auto"])

    @property
    def scored_language(self) -> str:
        """Whose rules of spelling apply."""
        return self._language or "en"

    @property
    def thread_number(self) -> int:
        """As told, else as OMP_NUM_THREADS says, else one for each core that may be used."""
        from murmur_cli.models.machine import usable_cores

        if self.threads is not None:
            return self.threads
        told = os.environ.get("OMP_NUM_THREADS", "")
        return int(told) if told.isdecimal() and int(told) > 0 else usable_cores()

    def common_settings(self) -> dict[str, Any]:
        """Settings that no run changes, by their Python names.

        Raises:
            UsageError: an unknown precision, or a device that is not there.
        """
        from murmur_cli.models.device import resolve_device

        return {
            "language": self._language,
            "batch_size": self.batch_size,
            "precision": parse_precision(self.precision).value,
            "device": resolve_device(self.device),
            "diarize": self.diarize,
        }

    @property
    def _language(self) -> str | None:
        return self.language.strip().lower() if self.language is not None else None


def sweep_command(command: Callable[..., None]) -> Callable[..., None]:
    """A command (call: SweepCall, own options …) as typer takes it: what must be given, its own
    options, then the rest of `SweepCall`."""
    own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    types = get_type_hints(SweepCall, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty
            if field.default is dataclasses.MISSING
            else field.default,
            annotation=types[field.name],
        )
        for field in dataclasses.fields(SweepCall)
    ]
    given = [one for one in shared if one.default is inspect.Parameter.empty]
    own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
    parameters = [*given, *own, *(one for one in shared if one not in given)]

    @functools.wraps(command)
    def called(**options: Any) -> None:
        call = SweepCall(**{one.name: options.pop(one.name) for one in shared})
        command(call, **options)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called
