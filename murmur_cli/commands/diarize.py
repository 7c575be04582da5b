"""`murmur diarize`: who speaks when, without words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmur_cli.commands.console import stderr_console
from murmur_cli.commands.progress_display import ProgressDisplay
from murmur_cli.commands.recording_run import run_recordings
from murmur_cli.commands.report import Detail
from murmur_cli.commands.speaker_options import (
    OUTPUT,
    SPEAKERS,
    AllowPartialOption,
    ChannelsOption,
    DiarizerOption,
    EnrollOption,
    EnrollThresholdOption,
    MaxSpeakersOption,
    MinSpeakersOption,
    OutputOption,
    RecursiveOption,
    SpeakersOption,
    TrackOption,
    chunk_seconds,
    enrolment_of,
    output_place,
)
from murmur_cli.errors import UsageError
from murmur_cli.settings import (
    DEFAULT_CHUNK_S,
    DEFAULT_ENROLL_THRESHOLD,
    DiarizerKind,
    TranscribeSettings,
    parse_channels,
    parse_diarizer,
)
from murmur_cli.types import ChannelMode, SpeakerHints

WORDLESS_FORMATS = ("rttm", "json")
"""Formats that say something without words."""


def diarize_command(
    context: typer.Context,
    audio: Annotated[
        list[Path], typer.Argument(help="Recordings and folders of recordings.", show_default=False)
    ],
    diarizer: DiarizerOption = DiarizerKind.EMBEDDED.value,
    speakers: SpeakersOption = None,
    min_speakers: MinSpeakersOption = None,
    max_speakers: MaxSpeakersOption = None,
    enroll: EnrollOption = None,
    enroll_threshold: EnrollThresholdOption = DEFAULT_ENROLL_THRESHOLD,
    exclusive: Annotated[
        bool,
        typer.Option(
            "--exclusive",
            help="No overlap: where several talk, the shortest turn has it.",
            rich_help_panel=SPEAKERS,
        ),
    ] = False,
    chunk: Annotated[
        str, typer.Option(help="Longest chunk in seconds, or 'auto'.", rich_help_panel=SPEAKERS)
    ] = f"{DEFAULT_CHUNK_S:g}",
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            help="rttm, json; both if not given.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: OutputOption = None,
    channels: ChannelsOption = ChannelMode.AUTO.value,
    recursive: RecursiveOption = False,
    track: TrackOption = None,
    allow_partial: AllowPartialOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what was chosen.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks of failures.")] = False,
) -> None:
    """Find who speaks when; no recogniser is loaded.

    Writes RTTM and JSON beside each input unless told otherwise.
    """
    output_dir, to_stdout = output_place(output)
    settings = TranscribeSettings(
        chunk_s=chunk_seconds(chunk),
        recognise=False,
        exclusive=exclusive,
        diarizer=parse_diarizer(diarizer),
        hints=SpeakerHints(speakers, min_speakers, max_speakers),
        enroll_threshold=enroll_threshold,
        channels=parse_channels(channels),
        formats=_wordless_formats(formats),
        output_dir=output_dir,
        to_stdout=to_stdout,
        recursive=recursive,
        track=track,
        allow_partial=allow_partial,
    )
    raise typer.Exit(
        run_recordings(
            audio,
            settings,
            enrolment_of(context, enroll, enroll_threshold, diarize=True),
            ProgressDisplay(stderr_console(), quiet=quiet, verbose=verbose),
            Detail(show=False, quiet=quiet, debug=debug),
        )
    )


def _wordless_formats(values: list[str] | None) -> tuple[str, ...]:
    from murmur_cli.writers.registry import parse_formats

    formats = parse_formats(values or WORDLESS_FORMATS)
    for name in formats:
        if name not in WORDLESS_FORMATS:
            raise UsageError(
                f"--format {name}: without words there is {' and '.join(WORDLESS_FORMATS)} only;"
                " 'murmur transcribe' writes the others"
            )
    return formats
