"""`murmur transcribe`: recordings to who said what, when."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.commands.console import stderr_console
from murmur_cli.commands.progress_display import ProgressDisplay
from murmur_cli.commands.report import Detail, report_outcome
from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.settings import (
    DEFAULT_BATCH_SIZE,
    DEFAULT_CHUNK_S,
    DEFAULT_FORMATS,
    RETRY_TEMPERATURE,
    Precision,
    TranscribeSettings,
    parse_precision,
)
from murmur_cli.types import SpeakerHints

if TYPE_CHECKING:
    from murmur_cli.audio.discover import InputFile
    from murmur_cli.batch import Outcome
    from murmur_cli.models.choice import ModelChoice

STDOUT = "-"
JOINABLE_FORMATS = ("rttm", "stm", "ctm", "txt")
"""Formats that stay valid when those of several recordings follow each other."""

INPUT, MODEL, SPEAKERS, OUTPUT = "Input", "Recognition", "Speakers", "Output"


def transcribe_command(
    audio: Annotated[
        list[Path], typer.Argument(help="Recordings and folders of recordings.", show_default=False)
    ],
    chunk: Annotated[
        str,
        typer.Option(help="Longest chunk in seconds, or 'auto'.", rich_help_panel=MODEL),
    ] = f"{DEFAULT_CHUNK_S:g}",
    evict: Annotated[
        str,
        typer.Option(
            help="KV eviction policy: none, output, speech, both, align, align+output, streaming.",
            rich_help_panel=MODEL,
        ),
    ] = "none",
    evict_opt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="Option of the policy; repeatable.", rich_help_panel=MODEL
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="'auto', a name from 'murmur models', a hub id, or a folder.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    batch_size: Annotated[
        int, typer.Option(help="Requests decoded together.", rich_help_panel=MODEL)
    ] = DEFAULT_BATCH_SIZE,
    language: Annotated[
        str | None,
        typer.Option(
            help="Language code such as en; detected if not given.", rich_help_panel=MODEL
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option(help="transcribe, or translate (to English).", rich_help_panel=MODEL),
    ] = "transcribe",
    prompt: Annotated[
        str,
        typer.Option(help="Text with names and terms that may be spoken.", rich_help_panel=MODEL),
    ] = "",
    hotwords_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Names and terms, one a line.", rich_help_panel=MODEL),
    ] = None,
    temperature: Annotated[
        float,
        typer.Option(
            help="Of draws after a repetition; otherwise decoding is greedy.",
            rich_help_panel=MODEL,
        ),
    ] = RETRY_TEMPERATURE,
    precision: Annotated[
        str,
        typer.Option(
            help="What the arithmetic may give up: float32 nothing, exact no words, fast a few.",
            rich_help_panel=MODEL,
        ),
    ] = Precision.EXACT.value,
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda or cuda:N.", rich_help_panel=MODEL)
    ] = "auto",
    devices: Annotated[
        str,
        typer.Option(
            metavar="0,1,…", help="CUDA devices that share the work.", rich_help_panel=MODEL
        ),
    ] = "",
    diarize: Annotated[
        bool,
        typer.Option("--diarize/--no-diarize", help="Find speakers.", rich_help_panel=SPEAKERS),
    ] = True,
    speakers: Annotated[
        int | None, typer.Option(help="Exact number of speakers.", rich_help_panel=SPEAKERS)
    ] = None,
    min_speakers: Annotated[
        int | None, typer.Option(help="At least this many speakers.", rich_help_panel=SPEAKERS)
    ] = None,
    max_speakers: Annotated[
        int | None, typer.Option(help="At most this many speakers.", rich_help_panel=SPEAKERS)
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            "-f",
            help="rttm, srt, json, vtt, txt, stm, seglst, ctm or all; commas or repeated.  "
            f"[default: {','.join(DEFAULT_FORMATS)}]",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder for the results, '-' for standard output; default beside each input.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    show: Annotated[
        bool,
        typer.Option(help="Print the transcript on standard output.", rich_help_panel=OUTPUT),
    ] = False,
    recursive: Annotated[
        bool,
        typer.Option("--recursive", "-r", help="Search deeply.", rich_help_panel=INPUT),
    ] = False,
    track: Annotated[
        int | None,
        typer.Option(min=0, help="Audio track of a video, from 0.", rich_help_panel=INPUT),
    ] = None,
    allow_partial: Annotated[
        bool,
        typer.Option(
            "--allow-partial",
            help="A truncated file does not count as failed.",
            rich_help_panel=INPUT,
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what was chosen.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks of failures.")] = False,
) -> None:
    """Transcribe recordings: who said what, when.

    Writes RTTM, SRT and JSON beside each input unless told otherwise.
    """
    from murmur_cli.writers.registry import parse_formats

    if output is not None and not output.strip():
        raise UsageError("-o is empty: give a folder, or '-' for standard output")
    to_stdout = output == STDOUT
    settings = TranscribeSettings(
        model=model,
        chunk_s=_chunk_seconds(chunk),
        evict=evict,
        evict_options=_key_values(evict_opt or []),
        batch_size=batch_size,
        language=language.strip().lower() if language is not None else None,
        task=task,
        context=_context(prompt, hotwords_file),
        temperature=temperature,
        precision=parse_precision(precision),
        diarize=diarize,
        hints=SpeakerHints(speakers, min_speakers, max_speakers),
        device=device,
        devices=tuple(name.strip() for name in devices.split(",") if name.strip()),
        formats=parse_formats(formats or DEFAULT_FORMATS),
        output_dir=Path(output) if output is not None and not to_stdout else None,
        to_stdout=to_stdout,
        recursive=recursive,
        track=track,
        allow_partial=allow_partial,
    )
    if show and to_stdout:
        raise UsageError("--show and -o - both want standard output; choose one")
    if (show or to_stdout) and sys.stdout is None:
        raise UsageError(f"{'--show' if show else '-o -'}: standard output is closed")
    display = ProgressDisplay(stderr_console(), quiet=quiet, verbose=verbose)
    try:
        code = _run(audio, settings, display, Detail(show, quiet, debug))
    except KeyboardInterrupt:
        display.line("interrupted; finished recordings are written")
        code = ExitCode.INTERRUPTED
    raise typer.Exit(code)


def _run(
    audio: Sequence[Path],
    settings: TranscribeSettings,
    display: ProgressDisplay,
    detail: Detail,
) -> ExitCode:
    from murmur_cli.asr.registry import check_evict, check_request
    from murmur_cli.audio.discover import find_inputs
    from murmur_cli.batch import exit_code, transcribe_batch

    check_evict(settings)
    sources = find_inputs(audio, recursive=settings.recursive)
    _check_outputs(sources, settings)
    settings = _with_devices(settings)
    choice, device = _choose(settings, display)
    settings = _with_chunk_of_model(settings, choice, display)
    check_request(choice, settings)
    outcomes: list[Outcome] = []

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        report_outcome(outcome, settings, display, detail, num_recordings=len(sources))

    # Data on standard output has the order of the inputs, so that equal runs give equal bytes.
    in_order = settings.to_stdout or detail.show
    with display:
        transcribe_batch(sources, settings, choice, device, display, report, in_order=in_order)
    failed = sum(outcome.transcript is None for outcome in outcomes)
    if failed and len(outcomes) > 1:
        display.line(
            f"{len(outcomes) - failed} of {len(outcomes)} recordings done, {failed} failed"
        )
    return exit_code(outcomes, allow_partial=settings.allow_partial)


def _with_devices(settings: TranscribeSettings) -> TranscribeSettings:
    """The settings with the devices of '--devices' as they are called here."""
    if not settings.devices:
        return settings
    from murmur_cli.models.device import resolve_devices

    return replace(settings, devices=resolve_devices(settings.devices))


def _with_chunk_of_model(
    settings: TranscribeSettings, choice: ModelChoice, display: ProgressDisplay
) -> TranscribeSettings:
    """The settings with a ceiling of chunks that the model is meant for."""
    from murmur_cli.asr.registry import longest_chunk_s

    chunk_s = longest_chunk_s(choice, settings)
    if chunk_s != settings.chunk_s:
        display.note(f"chunks of at most {chunk_s:g} s: {choice.name} is meant for no more")
    return replace(settings, chunk_s=chunk_s)


def _choose(settings: TranscribeSettings, display: ProgressDisplay) -> tuple[ModelChoice, str]:
    from murmur_cli.models.choice import choose_model
    from murmur_cli.models.device import resolve_device

    device = settings.devices[0] if settings.devices else resolve_device(settings.device)
    choice = choose_model(settings.model, device)
    display.note(f"model {choice.name} on {device}: {choice.reason}")
    return choice, device


def _check_outputs(sources: Sequence[InputFile], settings: TranscribeSettings) -> None:
    """Refuse outputs that cannot be written, before any model loads."""
    from murmur_cli.batch import output_directory
    from murmur_cli.writers.output import check_directory, check_inputs_kept, output_paths

    if settings.to_stdout:
        if len(settings.formats) != 1:
            raise UsageError("-o - takes one format; name it with --format")
        if len(sources) > 1 and settings.formats[0] not in JOINABLE_FORMATS:
            raise UsageError(
                f"-o - with several recordings takes {', '.join(JOINABLE_FORMATS)}; "
                f"not {settings.formats[0]}"
            )
        return
    planned: list[Path] = []
    for source in sources:
        directory = output_directory(source, settings)
        # A missing input fails by itself later; its folder must not be created for it.
        if settings.output_dir is not None or source.path.exists():
            check_directory(directory)
            planned.extend(output_paths(settings.formats, directory, source.session_id))
    check_inputs_kept([source.path for source in sources], planned)


def _chunk_seconds(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--chunk {text}: give seconds or 'auto'") from None


def _context(prompt: str, hotwords_file: Path | None) -> str:
    """The prompt, then the words of the file, apart by commas."""
    parts = [" ".join(prompt.split())]
    if hotwords_file is not None:
        try:
            lines = hotwords_file.read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise UsageError(f"--hotwords-file {hotwords_file}: {reason}") from None
        except UnicodeDecodeError:
            raise UsageError(f"--hotwords-file {hotwords_file}: not text in UTF-8") from None
        words = [" ".join(line.split()) for line in lines]
        parts.append(", ".join(word for word in words if word and not word.startswith("#")))
    return " ".join(part for part in parts if part)


def _key_values(pairs: Sequence[str]) -> dict[str, str]:
    options = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise UsageError(f"--evict-opt {pair}: write KEY=VALUE")
        if key.strip() in options:
            raise UsageError(f"--evict-opt {pair}: {key.strip()} is given twice")
        options[key.strip()] = value.strip()
    return options
