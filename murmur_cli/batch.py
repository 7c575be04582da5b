"""Many recordings: one that fails does not stop the others, and each is written when done."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.discover import InputFile
from murmur_cli.errors import ExitCode, ModelError, RecordingError, UsageError
from murmur_cli.models.choice import ModelChoice
from murmur_cli.pipeline import transcribe_recording
from murmur_cli.progress import ProgressHook
from murmur_cli.settings import TranscribeSettings
from murmur_cli.stages import Stages, start_stages
from murmur_cli.types import Status, Transcript
from murmur_cli.writers.output import write_outputs


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one input: a transcript and its files, or a failure in one line.

    `details` is the traceback of an unexpected failure, for --debug.
    """

    source: InputFile
    transcript: Transcript | None
    files: tuple[Path, ...] = ()
    failure: str | None = None
    details: str | None = None


def output_directory(source: InputFile, settings: TranscribeSettings) -> Path:
    """Where the results of an input go: the given folder, else beside the input."""
    return settings.output_dir if settings.output_dir is not None else source.path.parent


def transcribe_batch(
    sources: Sequence[InputFile],
    settings: TranscribeSettings,
    choice: ModelChoice,
    device: str,
    progress: ProgressHook,
    on_outcome: Callable[[Outcome], None],
) -> tuple[Outcome, ...]:
    """Transcribe and write each input in turn; `on_outcome` hears of each as it ends.

    Raises:
        ModelError: a model cannot be loaded; no other recording could do better.
        UsageError: the model, once loaded, lacks what the settings ask for.
    """
    outcomes = []
    with start_stages(settings, choice, device, progress) as stages:
        for source in sources:
            outcome = _transcribe_one(source, settings, stages, device, progress)
            outcomes.append(outcome)
            on_outcome(outcome)
    return tuple(outcomes)


def _transcribe_one(
    source: InputFile,
    settings: TranscribeSettings,
    stages: Stages,
    device: str,
    progress: ProgressHook,
) -> Outcome:
    try:
        transcript = transcribe_recording(source, settings, stages, device, progress)
        files: tuple[Path, ...] = ()
        if not settings.to_stdout:
            files = write_outputs(
                transcript,
                settings.formats,
                output_directory(source, settings),
                source.session_id,
            )
        return Outcome(source, transcript, files)
    except (ModelError, UsageError):
        raise
    except RecordingError as error:
        return Outcome(source, None, failure=str(error))
    except Exception as error:
        # The batch outlives a fault of ours in one recording; the traceback is kept.
        reason = next((line for line in str(error).splitlines() if line.strip()), "no message")
        failure = f"unexpected {type(error).__name__}: {reason} (--debug shows where)"
        return Outcome(source, None, failure=failure, details=traceback.format_exc())


def exit_code(outcomes: Sequence[Outcome], *, allow_partial: bool) -> ExitCode:
    """0 if all is well, 3 if nothing could be processed, else 1.

    A truncated recording counts as failed although it was written, unless `allow_partial`.
    """
    done = [outcome.transcript for outcome in outcomes if outcome.transcript is not None]
    if not done:
        return ExitCode.NOTHING_PROCESSED
    partial = any(transcript.status is Status.PARTIAL for transcript in done)
    if len(done) < len(outcomes) or (partial and not allow_partial):
        return ExitCode.SOME_FAILED
    return ExitCode.OK
