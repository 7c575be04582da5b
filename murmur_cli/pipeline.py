"""Recordings from file to transcript: the diagram of ARCHITECTURE.md, in code.

prepare:   read -> detect speech -> plan chunks        in a thread, ahead
recognise: one queue for the chunks of all recordings
finish:    diarize -> stitch -> attribute              as soon as a recording's words are there
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from murmur_cli.asr.base import Job, Recognition, RecognitionSession
from murmur_cli.attribution.words_to_speakers import attribute
from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.diarization.base import hints_for_chunk, told_turns
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.prepared_ahead import PreparedAhead
from murmur_cli.progress import ProgressHook
from murmur_cli.run_record import run_record
from murmur_cli.settings import TranscribeSettings
from murmur_cli.stage_clock import StageClock
from murmur_cli.stages import Stages
from murmur_cli.stitching.stitch import stitch
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import (
    ChunkPlan,
    ModelIdentity,
    Recording,
    SampleSpan,
    SpeakersFrom,
    SpeakerTimeline,
    Status,
    Transcript,
)

NOTHING_HEARD = Recognition((), None)


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one input: its transcript, or what it failed with."""

    source: InputFile
    result: Transcript | Exception


@dataclass(frozen=True, slots=True)
class Prepared:
    """A recording that is ready for the recogniser; without speech its plan is empty."""

    recording: Recording
    speech: tuple[SampleSpan, ...]
    plan: ChunkPlan
    models: list[ModelIdentity]
    clock: StageClock


class Pipeline:
    """Who said what, when, in each of many recordings.

    Without speech in any of them neither the recogniser nor the diarizer is called.
    """

    def __init__(
        self, settings: TranscribeSettings, stages: Stages, device: str, progress: ProgressHook
    ) -> None:
        self._settings = settings
        self._stages = stages
        self._device = device
        self._progress = progress
        self._session: RecognitionSession | None = None
        self._heard: dict[str, tuple[InputFile, Prepared]] = {}

    def run(self, sources: Sequence[InputFile]) -> Generator[Done, None, None]:
        """Each recording as it is done: in order of completion, which need not be that of
        `sources`. One that fails does not stop the others.

        Raises:
            ModelError: a stage cannot be loaded, or has not enough memory.
            UsageError: the model, once loaded, lacks what the settings ask for.
        """
        try:
            with PreparedAhead(sources, self.prepare, "prepare") as ahead:
                while ahead.more or self._heard:
                    while ahead.more and self._wants_more:
                        taken = ahead.take(wait=not self._heard)
                        if taken is None:
                            break
                        yield from self._take_in(*taken, more_follow=ahead.more)
                        del taken  # or it lives until the next is taken
                    yield from self._recognise()
        finally:
            self._end_session()

    # --- prepare ----------------------------------------------------------------------------

    def prepare(self, source: InputFile) -> Prepared:
        """Read a recording, find its speech, plan its chunks. Runs beside the recogniser."""
        clock = StageClock(source.session_id, self._progress)
        with clock.stage("read"):
            recording = read_recording(source, track=self._settings.track)
        with clock.stage("load models"):
            detector = self._stages.detector.get()
        with clock.stage("speech detection"):
            speech = detector.detect(recording.samples)
        with clock.stage("chunking"):
            plan = plan_chunks(
                speech,
                recording.samples,
                max_chunk_s=self._settings.chunk_s,
                packing=self._stages.packing,
            )
        self._progress.note(f"{source.session_id}: {plan.rule}")
        return Prepared(recording, speech, plan, [detector.identity], clock)

    # --- recognise --------------------------------------------------------------------------

    @property
    def _wants_more(self) -> bool:
        return self._session is None or not self._heard or self._session.wants_more

    def _take_in(
        self, source: InputFile, made: Prepared | BaseException, *, more_follow: bool
    ) -> Iterator[Done]:
        """Queue what was prepared; what is done with that is handed on."""
        if isinstance(made, BaseException):
            yield self._failed(source, made)
        elif not made.plan.chunks:
            yield self._finish(source, made, NOTHING_HEARD)
        else:
            with made.clock.stage("load models"):
                recogniser = self._stages.recogniser.get()
            made.models.append(recogniser.identity)
            if self._session is None:
                self._session = recogniser.open_session(self._progress)
            self._heard[source.session_id] = (source, made)
            job = Job(source.session_id, made.recording.samples, made.plan.chunks)
            self._session.submit(job, more_follow=more_follow)

    def _recognise(self) -> Iterator[Done]:
        """Let the recogniser work for a moment; finish the recordings that it is done with."""
        if self._session is None or not self._heard:
            return
        try:
            recognised = self._session.step()
        except (ModelError, UsageError):
            raise
        except Exception as error:
            # A fault in a step is nobody's own: whoever was in it fails, the rest begins anew.
            failing, self._heard = self._heard, {}
            self._end_session()
            for source, _ in failing.values():
                yield self._failed(source, error)
            return
        for one in recognised:
            source, prepared = self._heard.pop(one.recording)
            if isinstance(one.result, Exception):
                yield self._failed(source, one.result)
            else:
                yield self._finish(source, prepared, one.result)

    def _end_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    # --- finish -----------------------------------------------------------------------------

    def _finish(self, source: InputFile, prepared: Prepared, recognition: Recognition) -> Done:
        try:
            return Done(source, self._transcript(prepared, recognition))
        except Exception as error:
            return self._failed(source, error)
        finally:
            self._progress.end(source.session_id)

    def _failed(self, source: InputFile, error: BaseException) -> Done:
        """The failure of one recording, unless it is one that no other would escape."""
        self._progress.end(source.session_id)
        if isinstance(error, (ModelError, UsageError)) or not isinstance(error, Exception):
            raise error
        return Done(source, error)

    def _transcript(self, prepared: Prepared, recognition: Recognition) -> Transcript:
        recording, plan, clock = prepared.recording, prepared.plan, prepared.clock
        arithmetic = self._device
        timeline: SpeakerTimeline | None = None
        if plan.chunks:
            clock.add("recognition", recognition.wall_s)
            arithmetic = f"{self._device}: {self._stages.recogniser.get().precision}"
            timeline = self._speakers(prepared, recognition)
        with clock.stage("attribution"):
            segments = attribute(recognition.chunks, timeline, recording.facts.duration_s)
        return Transcript(
            session_id=recording.session_id,
            status=_status(recording, plan),
            facts=recording.facts,
            speech_s=sum(span.length for span in prepared.speech) / SAMPLE_RATE_HZ,
            language=recognition.language,
            segments=segments,
            turns=timeline.turns if timeline is not None else (),
            speakers=timeline.speakers if timeline is not None else (),
            plan=plan,
            chunks=recognition.chunks,
            decisions=timeline.decisions if timeline is not None else (),
            run=run_record(self._settings, tuple(prepared.models), arithmetic),
            timings=clock.timings,
            warnings=recording.warnings + (timeline.warnings if timeline is not None else ()),
            notes=recognition.notes,
            speakers_from=_speakers_from(recognition) if timeline is not None else None,
        )

    def _speakers(self, prepared: Prepared, recognition: Recognition) -> SpeakerTimeline | None:
        if self._stages.diarizer is None:
            return None
        recording, chunks, clock = prepared.recording, prepared.plan.chunks, prepared.clock
        with clock.stage("load models"):
            diarizer = self._stages.diarizer.get()
        prepared.models.extend(diarizer.identities)
        hints = hints_for_chunk(self._settings.hints, len(chunks))
        names_speakers = self._stages.recogniser.get().names_speakers
        local = []
        with clock.stage("diarization", len(chunks)):
            for chunk, heard in zip(chunks, recognition.chunks, strict=True):
                told = told_turns(heard)
                # Words of which a recogniser that names speakers does not say whose they are go
                # by the voices.
                if told or (names_speakers and not heard.segments):
                    local.append(diarizer.voices(recording.samples, chunk, told))
                else:
                    local.append(diarizer.diarize(recording.samples, chunk, hints=hints))
                self._progress.advance(recording.session_id, "diarization", len(local))
        with clock.stage("stitching"):
            return stitch(local, self._settings.hints)


def _speakers_from(recognition: Recognition) -> SpeakersFrom:
    """The recogniser, if it named a speaker in any chunk."""
    names = any(told_turns(heard) for heard in recognition.chunks)
    return SpeakersFrom.RECOGNISER if names else SpeakersFrom.DIARIZER


def _status(recording: Recording, plan: ChunkPlan) -> Status:
    if recording.truncated:
        return Status.PARTIAL
    return Status.OK if plan.chunks else Status.EMPTY
