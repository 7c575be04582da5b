"""Options that the commands which find speakers share, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.commands.option_source import is_typed
from murmur_cli.errors import UsageError
from murmur_cli.settings import FULL_CHUNK_S

if TYPE_CHECKING:
    from murmur_cli.enrolment.request import EnrolRequest

INPUT, SPEAKERS, OUTPUT = "Input", "Speakers", "Output"
STDOUT = "-"

EnrollOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE",
        help="A clip of a person to know by name, or a file of 'murmur enroll'; repeatable.",
        rich_help_panel=SPEAKERS,
    ),
]
EnrollThresholdOption = Annotated[
    float,
    typer.Option(
        metavar="COSINE",
        help="Least similarity to a known voice for its name.",
        rich_help_panel=SPEAKERS,
    ),
]
DiarizerOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="embedded, or pyannote: its own pipeline, once it is fetched.",
        rich_help_panel=SPEAKERS,
    ),
]
ChannelsOption = Annotated[
    str,
    typer.Option(
        help="mix, split (each channel has its own people) or auto (what they hold decides).",
        rich_help_panel=INPUT,
    ),
]

SpeakersOption = Annotated[
    int | None, typer.Option(help="Exact number of speakers.", rich_help_panel=SPEAKERS)
]
MinSpeakersOption = Annotated[
    int | None, typer.Option(help="At least this many speakers.", rich_help_panel=SPEAKERS)
]
MaxSpeakersOption = Annotated[
    int | None, typer.Option(help="At most this many speakers.", rich_help_panel=SPEAKERS)
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="DIR",
        help="Folder for the results, '-' for standard output; default beside each input.",
        rich_help_panel=OUTPUT,
    ),
]
RecursiveOption = Annotated[
    bool, typer.Option("--recursive", "-r", help="Search deeply.", rich_help_panel=INPUT)
]
TrackOption = Annotated[
    int | None, typer.Option(min=0, help="Audio track of a video, from 0.", rich_help_panel=INPUT)
]
AllowPartialOption = Annotated[
    bool,
    typer.Option(
        "--allow-partial",
        help="A truncated file does not count as failed.",
        rich_help_panel=INPUT,
    ),
]


def enrolment_of(
    context: typer.Context, values: Sequence[str] | None, threshold: float, *, diarize: bool
) -> EnrolRequest:
    """What '--enroll' asks for.

    context: of a command with an `enroll_threshold`. A recipe may give that, too, and is not bound
    to say whose voices it is for.

    Raises:
        UsageError: see `parse_requests`; no speakers are wanted; or the call gives a threshold and
            no voices.
    """
    from murmur_cli.enrolment.request import NO_ENROLMENT, parse_requests

    if not values:
        if is_typed(context, "enroll_threshold"):
            raise UsageError(
                f"--enroll-threshold {threshold:g}: there is no known voice to compare with; give "
                "--enroll NAME=FILE, too, or leave it out"
            )
        return NO_ENROLMENT
    if not diarize:
        raise UsageError("--enroll names speakers; do not give --no-diarize with it")
    return parse_requests(values, "--enroll")


def output_place(output: str | None) -> tuple[Path | None, bool]:
    """The folder of '-o', None for beside each input, and whether it means standard output.

    Raises:
        UsageError: it is empty.
    """
    if output is not None and not output.strip():
        raise UsageError("-o is empty: give a folder, or '-' for standard output")
    if output is None or output == STDOUT:
        return None, output is not None
    return Path(output), False


def chunk_seconds(text: str) -> float | None:
    """The number of '--chunk'; None for 'auto', more than any recording has for 'full'.

    Raises:
        UsageError: neither.
    """
    if text == "auto":
        return None
    if text == "full":
        return FULL_CHUNK_S
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--chunk {text}: give seconds, 'auto' or 'full'") from None
