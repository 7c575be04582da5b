"""Recordings through the pipeline, as a command of the program."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from murmur_cli.commands.progress_display import ProgressDisplay
from murmur_cli.commands.report import Detail, report_outcome
from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.settings import FULL_CHUNK_S, TranscribeSettings

if TYPE_CHECKING:
    from murmur_cli.audio.discover import InputFile
    from murmur_cli.batch import Outcome
    from murmur_cli.enrolment.request import EnrolRequest
    from murmur_cli.models.choice import ModelChoice

JOINABLE_FORMATS = ("rttm", "stm", "ctm", "txt")
"""Formats that stay valid when those of several recordings follow each other."""


def run_recordings(
    audio: Sequence[Path],
    settings: TranscribeSettings,
    enrolment: EnrolRequest,
    display: ProgressDisplay,
    detail: Detail,
) -> ExitCode:
    """Process recordings and write the results; the exit code of the program.

    Raises:
        MurmurError: the run as a whole cannot go on.
    """
    if (detail.show or settings.to_stdout) and sys.stdout is None:
        raise UsageError(f"{'--show' if detail.show else '-o -'}: standard output is closed")
    try:
        return _run(audio, settings, enrolment, display, detail)
    except KeyboardInterrupt:
        display.line("interrupted; finished recordings are written")
        return ExitCode.INTERRUPTED


def _run(
    audio: Sequence[Path],
    settings: TranscribeSettings,
    enrolment: EnrolRequest,
    display: ProgressDisplay,
    detail: Detail,
) -> ExitCode:
    from murmur_cli.audio.discover import find_inputs
    from murmur_cli.batch import exit_code, transcribe_batch

    if settings.recognise:
        _check_evict(settings)
    sources = find_inputs(audio, recursive=settings.recursive)
    _check_outputs(sources, settings)
    choice, device = None, "cpu"
    if settings.recognise:
        settings, choice, device = _recogniser(settings, display)
    outcomes: list[Outcome] = []

    def report(outcome: Outcome) -> None:
        outcomes.append(outcome)
        report_outcome(outcome, settings, display, detail, num_recordings=len(sources))

    # Data on standard output has the order of the inputs, so that equal runs give equal bytes.
    in_order = settings.to_stdout or detail.show
    with display:
        transcribe_batch(
            *(sources, settings, choice, device, display, report),
            in_order=in_order,
            enrolment=enrolment,
        )
    failed = sum(outcome.transcript is None for outcome in outcomes)
    if failed and len(outcomes) > 1:
        display.line(
            f"{len(outcomes) - failed} of {len(outcomes)} recordings done, {failed} failed"
        )
    return exit_code(outcomes, allow_partial=settings.allow_partial)


def _check_evict(settings: TranscribeSettings) -> None:
    from murmur_cli.asr.registry import check_evict

    check_evict(settings)


def _recogniser(
    settings: TranscribeSettings, display: ProgressDisplay
) -> tuple[TranscribeSettings, ModelChoice, str]:
    """The model and the device that the settings name, and the settings made to fit them."""
    from murmur_cli.asr.registry import check_request, with_measured_budget

    settings = _with_devices(settings)
    choice, device = _choose(settings, display)
    settings = _with_chunk_of_model(settings, choice, display)
    settings = with_measured_budget(choice, settings)
    check_request(choice, settings)
    return settings, choice, device


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

    if settings.chunk_curves:
        own = [curve for curve in settings.chunk_curves if curve.model == choice.name]
        limits = [
            longest_chunk_s(choice, replace(settings, chunk_s=curve.chunk_s or FULL_CHUNK_S))
            for curve in own
        ]
        curves = [replace(curve, chunk_s=s) for curve, s in zip(own, limits, strict=True)]
        settings = replace(settings, chunk_curves=tuple(curves))
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
