"""`murmur enroll`: clips of people to a file of their voices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.commands.console import stderr_console
from murmur_cli.commands.progress_display import ProgressDisplay
from murmur_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from murmur_cli.enrolment.request import EnrolRequest


def enroll_command(
    clips: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME=FILE…",
            help="Clips, each of one person; files of voices are taken over.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="File for the voices.")
    ],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.")] = False,
) -> None:
    """Store voices to know by name, for --enroll of 'transcribe' and 'diarize'.

    Ten seconds of a person talking alone are enough; several clips of one name are averaged.
    The file holds what the voices are like, no audio.
    """
    from murmur_cli.enrolment.request import parse_requests
    from murmur_cli.writers.output import check_directory, check_inputs_kept

    request = parse_requests(clips, "enroll")
    check_directory(output.parent)
    check_inputs_kept([clip.path for clip in request.clips], [output])
    _check_replaceable(output)
    display = ProgressDisplay(stderr_console(), quiet=quiet, verbose=False)
    try:
        code = _enroll(request, output, display, quiet=quiet)
    except KeyboardInterrupt:
        display.line("interrupted; nothing was written")
        code = ExitCode.INTERRUPTED
    raise typer.Exit(code)


def _check_replaceable(output: Path) -> None:
    """Refuse to lose a file of another kind, such as a recording whose name was forgotten.

    Raises:
        UsageError: there is a file that holds no voices.
    """
    from murmur_cli.enrolment.voice_file import read_voices

    if not output.is_file() or output.stat().st_size == 0:
        return
    try:
        read_voices(output)
    except UsageError as error:
        raise UsageError(f"-o would overwrite {error}; give another one, or remove it") from error


def _enroll(
    request: EnrolRequest, output: Path, display: ProgressDisplay, *, quiet: bool
) -> ExitCode:
    from murmur_cli.audio.path_text import path_text
    from murmur_cli.enrolment.enrol import enrol
    from murmur_cli.enrolment.voice_file import render_voices
    from murmur_cli.settings import TranscribeSettings
    from murmur_cli.stages import start_stages
    from murmur_cli.writers.output import write_whole

    settings = TranscribeSettings(recognise=False)
    with display, start_stages(settings, None, "cpu", display) as stages:
        known, failed = enrol(request, stages, lambda line: display.note(line, level="warning"))
    for one in failed:
        display.line(f"{one.request.name}: failed: {one.reason}", style="red")
    if known is None:
        return ExitCode.NOTHING_PROCESSED
    write_whole(output, render_voices(known).encode("utf-8"))
    if not quiet:
        people = ", ".join(f"{voice.name} ({voice.clean_s:.1f} s)" for voice in known.voices)
        display.line(f"{path_text(output)}: {people}")
    return ExitCode.SOME_FAILED if failed else ExitCode.OK
