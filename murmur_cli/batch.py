"""Many recordings: one that fails does not stop the others, and each is written when done."""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.discover import InputFile
from murmur_cli.enrolment.enrol import enrol, refuse_failed
from murmur_cli.enrolment.request import NO_ENROLMENT, EnrolRequest
from murmur_cli.errors import ExitCode, ModelError, RecordingError, UsageError
from murmur_cli.models.choice import ModelChoice
from murmur_cli.pipeline import Done, Pipeline
from murmur_cli.progress import ProgressHook
from murmur_cli.settings import TranscribeSettings
from murmur_cli.stages import Stages, start_stages
from murmur_cli.types import KnownVoices, Status, Transcript
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
    choice: ModelChoice | None,
    device: str,
    progress: ProgressHook,
    on_outcome: Callable[[Outcome], None],
    *,
    in_order: bool = False,
    enrolment: EnrolRequest = NO_ENROLMENT,
) -> tuple[Outcome, ...]:
    """Transcribe and write the inputs, each as soon as it is done; `on_outcome` hears of it.

    Outcomes come in order of completion. `in_order` holds them back until those before them are
    told; the files are written all the same.

    Args:
        choice: the recogniser; None where no words are wanted.
        enrolment: voices to know by name.

    Raises:
        ModelError: a model cannot be loaded; no other recording could do better.
        UsageError: the model, once loaded, lacks what the settings ask for, or a clip of a voice
            to know gives none.
    """
    outcomes: list[Outcome] = []

    def tell(outcome: Outcome) -> None:
        outcomes.append(outcome)
        on_outcome(outcome)

    ordered = InOrder([source.session_id for source in sources], tell)
    with start_stages(settings, choice, device, progress) as stages:
        known = _known_voices(enrolment, stages, progress)
        pipeline = Pipeline(settings, stages, device, progress, known)
        # Closed here if `on_outcome` ends the run.
        with closing(pipeline.run(sources)) as finished:
            for done in finished:
                outcome = _outcome(done, settings)
                if in_order:
                    ordered.put(outcome)
                else:
                    tell(outcome)
    return tuple(outcomes)


def _known_voices(
    enrolment: EnrolRequest, stages: Stages, progress: ProgressHook
) -> KnownVoices | None:
    if enrolment == NO_ENROLMENT:
        return None
    known, failed = enrol(enrolment, stages, lambda line: progress.note(line, level="warning"))
    refuse_failed(failed)
    return known


class InOrder:
    """Passes outcomes on in the order of the inputs."""

    def __init__(self, session_ids: Sequence[str], tell: Callable[[Outcome], None]) -> None:
        self._next = deque(session_ids)
        self._tell = tell
        self._held: dict[str, Outcome] = {}

    def put(self, outcome: Outcome) -> None:
        """Tell of an outcome, and of those that waited for it, when its turn has come."""
        self._held[outcome.source.session_id] = outcome
        while self._next and self._next[0] in self._held:
            self._tell(self._held.pop(self._next.popleft()))


def _outcome(done: Done, settings: TranscribeSettings) -> Outcome:
    """Write a transcript; a failure as one line."""
    if isinstance(done.result, Exception):
        return _failure(done.source, done.result)
    if settings.to_stdout:
        return Outcome(done.source, done.result)
    try:
        files = write_outputs(
            done.result,
            settings.formats,
            output_directory(done.source, settings),
            done.source.session_id,
        )
    except (ModelError, UsageError):
        raise
    except Exception as error:
        return _failure(done.source, error)
    return Outcome(done.source, done.result, files)


def _failure(source: InputFile, error: Exception) -> Outcome:
    try:
        if isinstance(error, RecordingError):
            return Outcome(source, None, failure=str(error))
        # The batch outlives a fault of ours in one recording; the traceback is kept, as text.
        reason = next((line for line in str(error).splitlines() if line.strip()), "no message")
        failure = f"unexpected {type(error).__name__}: {reason} (--debug shows where)"
        details = "".join(traceback.format_exception(error))
        return Outcome(source, None, failure=failure, details=details)
    finally:
        _forget_frames(error)


def _forget_frames(error: BaseException | None) -> None:
    """Its frames hold the recording, and one of them the error: a ring that would keep the
    temporary file of each recording that failed."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


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
