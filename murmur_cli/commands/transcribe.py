"""`murmur transcribe`: recordings to who said what, when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from murmur_cli.commands.console import stderr_console
from murmur_cli.commands.progress_display import ProgressDisplay
from murmur_cli.commands.recipe_option import (
    RecipeOption,
    curves_for_auto,
    names_recipe,
    shares_for_auto,
)
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
    DEFAULT_BATCH_SIZE,
    DEFAULT_CHUNK_S,
    DEFAULT_ENROLL_THRESHOLD,
    DEFAULT_FORMATS,
    RETRY_TEMPERATURE,
    DiarizerKind,
    Precision,
    TranscribeSettings,
    WordTiming,
    parse_channels,
    parse_diarizer,
    parse_precision,
    parse_word_times,
)
from murmur_cli.types import ChannelMode, SpeakerHints

MODEL = "Recognition"


@names_recipe
def transcribe_command(
    context: typer.Context,
    audio: Annotated[
        list[Path], typer.Argument(help="Recordings and folders of recordings.", show_default=False)
    ],
    chunk: Annotated[
        str,
        typer.Option(help="Longest chunk in seconds, 'auto' or 'full'.", rich_help_panel=MODEL),
    ] = f"{DEFAULT_CHUNK_S:g}",
    evict: Annotated[
        str,
        typer.Option(
            help="What a decode step reads: none, output, speech, both, align, streaming; by keys "
            "and queries c3, c3r, quest, unique, clusterkv, h2o, snapkv, pyramidkv, chunkkv, "
            "voxzip, each also with +output, such as c3r+output.",
            rich_help_panel=MODEL,
        ),
    ] = "none",
    kv_budget: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Speech entries per KV head that c3 and the like may read, a share such as 0.25, "
            "shares by layer and head such as '0.1,0.2;0.3,0.4', or 'auto': by head, as 'murmur "
            "calibrate' measured.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    kv_offload: Annotated[
        bool,
        typer.Option(
            "--kv-offload",
            help="Keep the speech cache in host memory; the device holds what a step reads.",
            rich_help_panel=MODEL,
        ),
    ] = False,
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
    word_times: Annotated[
        str,
        typer.Option(
            help="Of a SpeechLLM's words: auto, attention (slower on CUDA) or spread.",
            rich_help_panel=MODEL,
        ),
    ] = WordTiming.AUTO.value,
    device: Annotated[
        str,
        typer.Option(help="auto, cpu, cuda, cuda:N or balanced.", rich_help_panel=MODEL),
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
    diarizer: DiarizerOption = DiarizerKind.EMBEDDED.value,
    speakers: SpeakersOption = None,
    min_speakers: MinSpeakersOption = None,
    max_speakers: MaxSpeakersOption = None,
    enroll: EnrollOption = None,
    enroll_threshold: EnrollThresholdOption = DEFAULT_ENROLL_THRESHOLD,
    channels: ChannelsOption = ChannelMode.AUTO.value,
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
    output: OutputOption = None,
    show: Annotated[
        bool,
        typer.Option(help="Print the transcript on standard output.", rich_help_panel=OUTPUT),
    ] = False,
    recursive: RecursiveOption = False,
    track: TrackOption = None,
    allow_partial: AllowPartialOption = False,
    recipe: RecipeOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what was chosen.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tracebacks of failures.")] = False,
) -> None:
    """Transcribe recordings: who said what, when.

    Writes RTTM, SRT and JSON beside each input unless told otherwise.
    """
    from murmur_cli.writers.registry import parse_formats

    output_dir, to_stdout = output_place(output)
    settings = TranscribeSettings(
        model=model,
        chunk_s=chunk_seconds(chunk),
        chunk_curves=curves_for_auto(chunk, recipe),
        evict=evict,
        evict_options=_key_values(evict_opt or []),
        kv_budget=kv_budget,
        kv_offload=kv_offload,
        kv_shares=shares_for_auto(kv_budget, recipe),
        batch_size=batch_size,
        language=language.strip().lower() if language is not None else None,
        task=task,
        context=_context(prompt, hotwords_file),
        temperature=temperature,
        precision=parse_precision(precision),
        word_times=parse_word_times(word_times),
        diarize=diarize,
        diarizer=parse_diarizer(diarizer),
        hints=SpeakerHints(speakers, min_speakers, max_speakers),
        enroll_threshold=enroll_threshold,
        channels=parse_channels(channels),
        device=device,
        devices=tuple(name.strip() for name in devices.split(",")) if devices else (),
        formats=parse_formats(formats or DEFAULT_FORMATS),
        output_dir=output_dir,
        to_stdout=to_stdout,
        recursive=recursive,
        track=track,
        allow_partial=allow_partial,
    )
    if show and to_stdout:
        raise UsageError("--show and -o - both want standard output; choose one")
    raise typer.Exit(
        run_recordings(
            audio,
            settings,
            enrolment_of(context, enroll, enroll_threshold, diarize=diarize),
            ProgressDisplay(stderr_console(), quiet=quiet, verbose=verbose),
            Detail(show, quiet, debug),
        )
    )


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
