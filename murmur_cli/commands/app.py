"""The `murmur` program: its commands, and errors as one plain line with an exit code."""

from __future__ import annotations

import os
import sys
import threading
from typing import Annotated, NoReturn

import typer

from murmur_cli import __version__
from murmur_cli.commands.bench import bench_command
from murmur_cli.commands.calibrate import EXIT_CODES_HELP as CALIBRATE_EXIT_CODES_HELP
from murmur_cli.commands.calibrate import calibrate_command
from murmur_cli.commands.diarize import diarize_command
from murmur_cli.commands.doctor import doctor_command
from murmur_cli.commands.enroll import enroll_command
from murmur_cli.commands.models import models_app
from murmur_cli.commands.score import EXIT_CODES_HELP as SCORE_EXIT_CODES_HELP
from murmur_cli.commands.score import score_command
from murmur_cli.commands.speakers import speakers_command
from murmur_cli.commands.sweep_call import EXIT_CODES_HELP as SWEEP_EXIT_CODES_HELP
from murmur_cli.commands.sweep_chunks import sweep_chunks_command
from murmur_cli.commands.sweep_evict import sweep_evict_command
from murmur_cli.commands.transcribe import transcribe_command
from murmur_cli.errors import ExitCode, MurmurError

EXIT_CODES_HELP = (
    "Exit codes: 0 fine, 1 some recordings failed, 2 usage, 3 nothing could be processed, "
    "4 model or credentials missing, 130 interrupted."
)

app = typer.Typer(
    name="murmur",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES_HELP,
)
app.command("transcribe", epilog=EXIT_CODES_HELP)(transcribe_command)
app.command("diarize", epilog=EXIT_CODES_HELP)(diarize_command)
app.command("enroll", epilog=EXIT_CODES_HELP)(enroll_command)
app.command("speakers", epilog=EXIT_CODES_HELP)(speakers_command)
app.add_typer(models_app, name="models")
app.command("doctor")(doctor_command)
app.command("bench")(bench_command)
app.command("calibrate", epilog=CALIBRATE_EXIT_CODES_HELP)(calibrate_command)
app.command("score", epilog=SCORE_EXIT_CODES_HELP)(score_command)
app.command("sweep-chunks", epilog=SWEEP_EXIT_CODES_HELP)(sweep_chunks_command)
app.command("sweep-evict", epilog=SWEEP_EXIT_CODES_HELP)(sweep_evict_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"murmur {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show version."),
    ] = False,
) -> None:
    """Hour-long recordings to who said what, when."""


def main() -> None:
    """Entry point of the `murmur` program."""
    if sys.stderr is None:
        # Closed by who started us: what is said there is not to end up among the data.
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        app()
    except MurmurError as error:
        print(f"murmur: {_one_line(str(error))}", file=sys.stderr)
        _leave(error.exit_code)
    except SystemExit as ending:
        # typer makes a KeyboardInterrupt that no command caught into this.
        if isinstance(ending.code, int):
            _leave(ending.code)
        raise


def _leave(code: int) -> NoReturn:
    """Exit; a usual exit waits for threads, such as one that loads a model nobody needs now."""
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    if code == ExitCode.INTERRUPTED or any(not thread.daemon for thread in others):
        _leave_now(code)
    sys.exit(code)


def _leave_now(code: int) -> NoReturn:
    """End at once; all results are written by then, and temporary files have no names."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(code)


def _one_line(text: str) -> str:
    """A message without line breaks, which may come from a file's name."""
    return " ".join(text.split("\n"))
